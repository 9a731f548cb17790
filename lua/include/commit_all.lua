-- Commits several transactions of one coordinator in one step, at most once for each number of a name (txn/apply).  The
-- highest committed number of a name is stored with the transactional ids, under "=" and the name.
--   once used           the highest committed number, and the time of its commit
-- Uses of txn/apply and include/transactional_ids: txns, outcomes, reply_decision, decide, identities.

-- Three fields for each transaction: state, producer, participants.
local function reply_committed(serials)
  local reply = { OK, "committed" }
  for _, serial in ipairs(serials) do
    local n, decision = #reply, txns[serial] and reply_decision(txns[serial])
    reply[n + 1] = decision and decision[2] or "ended"
    reply[n + 2], reply[n + 3] = decision and decision[3] or "", decision and decision[4] or ""
  end
  return reply
end

-- commit_all: "number serial..."; without a name, name is "=" and number "-": commits all if all are open, else none.
-- Replies {OK, "committed", ...} | {OK, "already", highest number} | {TXN_NOT_FOUND, serial}
-- | {TXN_STATUS, serial, ["ended"], state}.
function identity_operations.commit_all(name, rest)
  local number, list = match(rest, "^(%S+) ?(.*)$")
  local held, new_number = identities[name], tonumber(number)
  local stored = held and tonumber(held.once)
  local serials, committed, refusal = {}, 0, nil
  for serial in gmatch(list, "%S+") do
    serials[#serials + 1] = serial
    local txn = txns[serial]
    local state = txn and txn.state or outcomes[serial]
    if state == "C" then committed = committed + 1 end
    if not state then
      refusal = refusal or { TXN_NOT_FOUND, serial }
    elseif not txn then
      refusal = refusal or { TXN_STATUS, serial, "ended", state }
    elseif state ~= "O" then
      refusal = refusal or { TXN_STATUS, serial, state }
    end
  end
  local is_same = not new_number or stored == new_number or (stored and stored > new_number and #serials > 0)
  if committed == #serials and is_same then return reply_committed(serials) end
  if stored and stored >= new_number then return { OK, "already", held.once } end
  if refusal then return refusal end
  for _, serial in ipairs(serials) do decide(serial, txns[serial], "C") end
  if new_number then
    identities[name] = { name = name, once = number }
    identities_changed[name] = identities[name]
  end
  return reply_committed(serials)
end

-- forget_number: "number used": forgets a name if nothing was committed under it since.
function identity_operations.forget_number(name, rest)
  local held = identities[name]
  if not held or identities_changed[name] or held.once .. " " .. held.used ~= rest then return { OK, "-" } end
  identities[name], identities_gone[#identities_gone + 1] = nil, name
  return { OK, "gone" }
end
