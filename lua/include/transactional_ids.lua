-- Transactional ids (txn/apply): the producer and the open transaction of each.  KIP-98, KIP-360, KIP-890.
--   number epoch        the producer id of this coordinator, and its epoch
--   serial decided      its last transaction ("-" none), and its producer's decision: C, A, or "-" not yet
--   before_...          number, epoch and decision before the last bump, which a retry still has.  "-" -1 "-"
--                       after an InitProducerId without an identity: the earlier producer is fenced, and a request
--                       with its identity is not a retry (Kafka sets lastProducerEpoch to -1)
--   used rollbacks      when it was written, and how often the coordinator had lost writes by then (nothing for 0)
-- Uses of txn/apply: txns, outcomes, decide, add, reply_decision, start, allocate.
local EPOCH_MAX = 32766 -- the last one is kept for fencing; then the id gets a new producer id
local identities, identities_changed, identities_gone = {}, {}, {}

local function read_identity(name, text)
  if not text then return end
  local id = { name = name }
  id.once, id.used = match(text, "^(%d+) (%d+)$") -- include/commit_all keeps its numbers here too
  if id.once then
    identities[name] = id
    return
  end
  id.number, id.epoch, id.timeout, id.serial, id.decided, id.before_number, id.before_epoch, id.before_decided, id.used =
    match(text, "^(%d+) (%d+) (%d+) (%S+) (%S) (%S+) (%S+) (%S) (%d+)")
  id.epoch, id.before_epoch = tonumber(id.epoch), tonumber(id.before_epoch)
  -- Written before its Redis lost writes (txn/takeover): later epochs may have been handed out, so no epoch is valid.
  id.is_fenced = held[7] and (match(text, "^%d+ %d+ %d+ %S+ %S %S+ %S+ %S %d+ (%d+)$") or "0") ~= held[7]
  identities[name] = id
end

local function identity_text(id)
  if id.once then return id.once .. " " .. ARGV[1] end
  local text = format("%s %d %s %s %s %s %d %s %s", id.number, id.epoch, id.timeout, id.serial, id.decided,
    id.before_number, id.before_epoch, id.before_decided, ARGV[1])
  if held[7] then return text .. " " .. (id.is_fenced and "0" or held[7]) end
  return text
end

local function bump(id, decided)
  id.before_number, id.before_epoch, id.before_decided = id.number, id.epoch, decided
  if id.epoch >= EPOCH_MAX then
    id.number, id.epoch = allocate(), 0
  else
    id.epoch = id.epoch + 1
  end
  identities_changed[id.name] = id
end

local function forget_before(id) id.before_number, id.before_epoch, id.before_decided = "-", -1, "-" end

-- A transaction that its timeout or an administrator ended fences its producer.  The producer goes on under the next epoch,
-- which it gets as the answer to its own abort (KIP-890) or InitProducerId.
local function lapse(id)
  if not id or id.serial == "-" or id.decided ~= "-" then return end
  local txn = txns[id.serial]
  if txn and txn.state == "O" then return end
  id.decided = (txn and txn.state or outcomes[id.serial]) == "C" and "C" or "A"
  bump(id, id.decided)
end

-- Returns the identity of the request, or nil and the reply that refuses it.
local function identified(name, number, epoch)
  local id = identities[name]
  lapse(id)
  if not id or (id.number ~= number and id.before_number ~= number) then return nil, { UNKNOWN_PRODUCER } end
  if id.is_fenced then return nil, { STALE_EPOCH, format("%d", id.epoch) } end
  if id.number ~= number or id.epoch ~= tonumber(epoch) then return nil, { STALE_EPOCH, format("%d", id.epoch) } end
  return id
end

-- Returns the identity, followed by the decision of its last transaction if that is still to be applied.
local function reply_identity(id)
  local txn = txns[id.serial]
  local epoch = format("%d", id.epoch)
  if not txn or txn.state == "O" then return { OK, id.number, epoch } end
  local decision = reply_decision(txn)
  return { OK, id.number, epoch, id.serial, decision[2], decision[3], decision[4] }
end

local function open_transaction(id)
  local txn = id.serial ~= "-" and txns[id.serial]
  if txn and txn.state == "O" then return txn end
end

local identity_operations = {}

-- init_id: "timeout number epoch": InitProducerId.  Fences the earlier producer and aborts its open transaction.  number is
-- "-" for a new producer, and "?" for a producer id of another coordinator.  As in Kafka, an unknown id gets a new number
-- for any identity in the request; a known one refuses every identity except the current one and that of a retry.
function identity_operations.init_id(name, rest)
  local timeout_ms, number, epoch = match(rest, "^(%d+) (%S+) (%S+)$")
  local id = identities[name]
  lapse(id)
  if not id then
    id = { name = name, number = allocate(), epoch = 0, timeout = timeout_ms, serial = "-", decided = "-" }
    forget_before(id)
    identities[name], identities_changed[name] = id, id
    return reply_identity(id)
  end
  identities_changed[name] = id
  if number ~= "-" and not id.is_fenced then
    if id.before_number == number and id.before_epoch == tonumber(epoch) then return reply_identity(id) end -- a repetition
    if id.number ~= number or id.epoch ~= tonumber(epoch) then return { STALE_EPOCH, format("%d", id.epoch) } end
  end
  local txn = open_transaction(id)
  if txn then
    decide(id.serial, txn, "A")
    id.decided = "A"
  end
  id.timeout = timeout_ms
  if id.is_fenced then
    id.number, id.epoch, id.is_fenced, number = allocate(), 0, false, "-"
  else
    bump(id, "-")
  end
  if number == "-" then forget_before(id) end
  return reply_identity(id)
end

-- add_by_id: "number epoch participant...": registers with the open transaction; begins one if there is none.
function identity_operations.add_by_id(name, rest)
  local number, epoch, participants = match(rest, "^(%d+) (%d+) ?(.*)$")
  local id, refusal = identified(name, number, epoch)
  if not id then return refusal end
  local txn = open_transaction(id)
  if not txn then
    local nonce = "@" .. number .. ":" .. epoch .. ":" .. name
    local serial, full = start(id.timeout, "-", nonce)
    if not serial then return full end
    id.serial, id.decided, txn = serial, "-", txns[serial]
    identities_changed[name] = id
  end
  if participants ~= "" then add(id.serial, txn, participants) end
  return { OK, id.serial }
end

-- verify_by_id: "number epoch participant...": returns OK if all are registered with the open transaction.  A partition of a
-- topic that was deleted and created again is registered now: the broker that registered it had not heard of that, and its
-- client named the topic only.  Of the participants in the row.
function identity_operations.verify_by_id(name, rest)
  local number, epoch, participants = match(rest, "^(%d+) (%d+) ?(.*)$")
  local id, refusal = identified(name, number, epoch)
  if not id then return refusal end
  local txn = open_transaction(id)
  if not txn then return { TXN_STATUS, "none" } end
  local known, missing = " " .. txn.participants .. " ", unregistered(id.serial, txn, participants)
  for _, word in ipairs(missing) do
    local topic, place = match(word, "^([^/]+)/[^/]+/(.+)$")
    local pattern = topic and string.gsub(" " .. topic, "%p", "%%%0") .. "/[^/ ]+/" .. string.gsub(place .. " ", "%p", "%%%0")
    if not topic or not find(known, pattern) then return { TXN_STATUS, "unregistered" } end
  end
  if #missing > 0 then add(id.serial, txn, table.concat(missing, " ")) end
  return { OK, id.serial }
end

-- end_by_id: "number epoch C|A bump(1|0) serial": ends the producer's transaction; with bump the producer gets the next epoch.
-- serial: the open transaction as the caller knows it, or "-".  Without bump the epoch is that of later transactions too, so
-- another open transaction is not ended: the reply has its serial.
function identity_operations.end_by_id(name, rest)
  local number, epoch, wanted, bumps, named = match(rest, "^(%d+) (%d+) (%u) (%d) (%S+)$")
  local id, refusal = identified(name, number, epoch)
  if not id then
    id = identities[name]
    local is_before = id and id.before_number == number and id.before_epoch == tonumber(epoch)
    if not is_before or id.is_fenced or bumps == "0" or id.before_decided == "-" then return refusal end
    if id.before_decided == wanted then return reply_identity(id) end -- a repetition
    return open_transaction(id) and refusal or { TXN_STATUS, id.before_decided }
  end
  local txn = open_transaction(id)
  if txn and bumps == "0" and named ~= id.serial then return { TXN_STATUS, "other", id.serial } end
  if txn then
    decide(id.serial, txn, wanted)
  elseif bumps == "1" and (id.serial == "-" or id.decided ~= "-") then
    -- Nothing was written under this epoch: an abort succeeds, a commit is an error of the client.
    if wanted == "C" then return { TXN_STATUS, "none" } end
  elseif id.decided ~= wanted then
    return { TXN_STATUS, id.serial == "-" and "none" or id.decided }
  end
  id.decided = wanted
  identities_changed[name] = id
  if bumps == "1" then bump(id, wanted) end
  return reply_identity(id)
end

-- forget_id: "number epoch used_ms": forgets an id that was not used since and has no transaction in progress.
function identity_operations.forget_id(name, rest)
  local number, epoch, used = match(rest, "^(%d+) (%d+) (%d+)$")
  local id = identities[name]
  local is_same = id and id.number == number and id.epoch == tonumber(epoch) and id.used == used
  if not is_same or identities_changed[name] or txns[id.serial] then return { OK, "-" } end
  identities[name], identities_gone[#identities_gone + 1] = nil, name
  return { OK, "gone" }
end
