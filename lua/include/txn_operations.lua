-- The operations on single transactions (txn/apply).  Each returns its reply and changes memory only: include/txn_write writes.

-- Adds a log record.  Every record names its transaction's serial and ends with the suffix; its position is stored with the
-- transaction.  Batched records share an entry; otherwise each has its own.
local count, batched, position, last_entry = 0, ARGV[8] == "1", entry .. ":", tonumber(held[2])
--- @include "include/trace"
-- bit: "0" for a record that is dead at once.
local function record(op, serial, fields, bit)
  count = count + 1
  if batched then
    local size = #op + 1 + #serial + #fields + #suffix
    records[count] = "\10" .. varint(size) .. op .. char(#serial) .. serial .. fields .. suffix
  else
    records[count] = op .. char(#serial) .. serial .. fields .. suffix
  end
  bits[count] = bit
end

local function log(op, serial, txn, fields, step)
  record(op, serial, fields, "1")
  txn.positions = txn.positions .. (batched and position .. count or format("%d:1", last_entry + count)) .. (step and trace.position(txn, step) or "") .. ","
  changed[serial] = txn
end

local function move(serial, txn, state)
  log(UPDATE, serial, txn, log_states(txn.state, state), state)
  txn.state = state
end

--- @include "include/participants"

local function allocate()
  local number = format("%d", unused)
  unused = unused + 1
  following = unused
  return number
end

-- A new open transaction: its serial, or nil and the reply that refuses it.
local function start(timeout_ms, owner, nonce)
  local limit = tonumber(ARGV[6])
  if limit > 0 and active >= limit then return nil, { TOO_MANY } end
  local serial, ms = allocate(), tonumber(timeout_ms)
  local txn = {
    state = "O", deadline = format("%d", now + ms), is_timed = true, positions = "", participants = "",
    fixed = ARGV[1] .. " " .. timeout_ms .. " " .. owner .. " " .. nonce,
  }
  active, created = active + 1, created + 1
  txns[serial] = txn
  fresh[#fresh + 1] = serial
  log(NEW, serial, txn, log_begin(ms, now, owner))
  return serial
end

local function begin(timeout_ms, rest)
  local owner, nonce, participants = match(rest, "^(%S+) (%S+) ?(.*)$")
  local earlier = nonce ~= "-" and by_nonce[nonce]
  local txn = earlier and txns[earlier]
  if earlier and not txn and steps.is_kept(nonce) then return { OK, earlier, "committed" } end
  local is_kept = txn and (txn.state == "O" or txn.state == "C") or earlier and outcomes[earlier] == "C"
  -- A step that is being aborted may still hold records and acknowledgements: its caller ends it first.
  if is_kept or txn and is_step(nonce) then return { OK, earlier, "again" } end
  local serial, refusal = start(timeout_ms, owner, nonce)
  if not serial then return refusal end
  if nonce ~= "-" then
    by_nonce[nonce] = serial
    named[#named + 1], named[#named + 2] = nonce, serial
  end
  if participants ~= "" then add(serial, txns[serial], participants) end
  return { OK, serial }
end

local function reply_decision(txn)
  local identity = find(txn.fixed, "@", 1, true) and match(txn.fixed, " (@%S+)$")
  return { OK, txn.state, identity or "", txn.participants }
end

local function decide(serial, txn, wanted)
  if txn.state == "O" then
    move(serial, txn, wanted)
    txn.deadline, txn.is_timed = overdue, true
  elseif (txn.state == "C") ~= (wanted == "C") then
    return { TXN_STATUS, txn.state }
  end
  return reply_decision(txn)
end

local function expire(serial, txn)
  if tonumber(txn.deadline) > now then return { OK, "-" } end
  if txn.state == "O" then
    move(serial, txn, "T")
    timeout = timeout + 1
  end
  txn.deadline, txn.is_timed = overdue, true -- the caller completes it; other sweeps leave it alone until then
  changed[serial] = txn
  return reply_decision(txn)
end

-- ends: when each participant was used and ended (include/trace).
local function complete(serial, txn, ends)
  if txn.state == "O" then return { TXN_STATUS, "O" } end
  if not wide.forget(serial, txn) then return { OK, "more" } end
  local outcome = txn.state
  txn.trace = trace.outcome(txn, ends)
  record(UPDATE, serial, log_states(outcome, outcome == "C" and "D" or "B"), "0")
  changed[serial], finished[serial], txns[serial], outcomes[serial] = nil, txn, nil, outcome
  dying[#dying + 1] = txn.positions
  active = active - 1
  if outcome == "C" then committed = committed + 1 else aborted = aborted + 1 end
  return { OK, outcome }
end

local function reply_ended(name, outcome, wanted)
  if name == "expire" then return { OK, "-" } end
  local is_repeated = name == "complete" or (name == "end" and (outcome == "C") == (wanted == "C"))
  return { is_repeated and OK or TXN_STATUS, "ended", outcome }
end
