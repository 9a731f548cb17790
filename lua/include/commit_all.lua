-- Transactions of one coordinator that commit together, once (txn/apply).  What is done in numbered steps under a name is
-- committed at most once for every number: the highest one is kept beside the transactional ids, under "=" and the name.
--   once used           the highest number that was committed, and when
-- Uses of txn/apply and include/transactional_ids: txns, outcomes, answer, decide, identities.

local function together_answer(serials)
  local parts = { "0 committed" }
  for n, serial in ipairs(serials) do
    parts[n + 1] = txns[serial] and string.sub(answer(txns[serial]), 3) or "ended"
  end
  return table.concat(parts, "|")
end

-- c: "number serial...", name "=" and number "-" without a name: all of them are open and commit, or none does.
function identity_acts.c(name, rest)
  local number, list = match(rest, "^(%S+) ?(.*)$")
  local held, asked_for = identities[name], tonumber(number)
  local stored = held and tonumber(held.once)
  local serials, committed, refusal = {}, 0, nil
  for serial in gmatch(list, "%S+") do
    serials[#serials + 1] = serial
    local txn = txns[serial]
    local state = txn and txn.state or outcomes[serial]
    if state == "C" then committed = committed + 1 end
    if not state then
      refusal = refusal or TXN_NOT_FOUND .. " " .. serial
    elseif not txn or state ~= "O" then
      refusal = refusal or TXN_STATUS .. " " .. serial .. (txn and " " or " ended ") .. state
    end
  end
  local is_again = committed == #serials and (not asked_for or stored == asked_for or (stored and stored > asked_for and #serials > 0))
  if is_again then return together_answer(serials) end
  if stored and stored >= asked_for then return "0 already " .. held.once end
  if refusal then return refusal end
  for _, serial in ipairs(serials) do decide(serial, txns[serial], "C") end
  if asked_for then
    identities[name] = { name = name, once = number }
    identities_changed[name] = identities[name]
  end
  return together_answer(serials)
end

-- o: "number used": forget a name under which nothing has been committed since.
function identity_acts.o(name, rest)
  local held = identities[name]
  if not held or identities_changed[name] or held.once .. " " .. held.used ~= rest then return "0 -" end
  identities[name], identities_gone[#identities_gone + 1] = nil, name
  return "0 gone"
end
