#!lua flags=allow-oom
--[[ txn/apply: a batch of operations on the transactions of one coordinator, and one log entry for all of them (PIP-160).

A transaction is packed as "state deadline started timeout owner nonce|positions|participants": state O open,
C committing, A aborting, T aborting because it ran past its timeout; positions "entry:index,..." are its log records
(index from 1), participants are separated by spaces; those beyond 4 KiB are in `wide`: include/participants.  The decision
table is redis_ledger/txn/states.py.

KEYS        1 state  2 txns  3 order  4 deadlines  5 outcomes  6 forget  7 nonces  8 calls  9 log  10 live  11 ids  12 steps
            13 wide
ARGV        1 now_ms  2 broker  3 call number of that broker  4 outcomes are kept for ms  5 and at most so many (negative: no limit)
            6 most open transactions (0 no limit)  7 a decided transaction is overdue after ms  8 batched entries (1 or 0)
            9 committed steps are kept for ms  10 and at most so many: include/ended_transactions
            11.. operations, three each: code, serial or timeout_ms, rest
              b timeout  "owner nonce participant..."   begin ("-" for none), and register at once
              n nonce    ""                             the step's answer is stored: its nonce need not be kept
              p ""       ""                             hand out a number for a producer id
              a serial   "participant..."               register topic/topic id/partition or .../subscription
              e serial   "C" or "A"                     decide
              x serial   ""                             expire if its deadline has passed; pick up what is overdue
              d serial   ""                             all participants are done
              c name     "number serial..."             commit all of these, or none: include/commit_all
              o; i, k, v, f, g of a transactional id: include/commit_all and include/transactional_ids say what they take
RETURNS     {OK, lowest live serial or "", next serial, lines}: one line an operation, first its status:
            0 <serial> [again|committed] | 0 <state> [@number:epoch:transactional id] <participant>... ["+", more are in wide]
            | 0 ended <outcome> | 0 - | 0 more (of d: say it again)
            | 0 <number> <epoch> [<serial> <state> @... <participant>...] | 0 committed|<state> ...|ended... | 0 already <number>
            | -10 not found | -11 <state> | -11 ended <outcome> | -13 too many | -5 <epoch now> fenced | -22 another producer id
COMPLEXITY  O(operations + transactions they name + participants they add); a call deletes at most 1000 log records and
            participants of transactions that are done
WRITES      all of it after everything was read and checked; a repeated call with a begin is answered from `calls`
SOURCE      PIP-31 "transaction coordinator"; PIP-160; docs/decisions/0003
]]
--- @include "include/status"
--- @include "include/id_allocation"
--- @include "include/txn_log"
--- @include "include/chunked"
local match, gmatch, find, format, rep, sub = string.match, string.gmatch, string.find, string.format, string.rep, string.sub
local now, call, overdue = tonumber(ARGV[1]), ARGV[3], format("%d", tonumber(ARGV[1]) + tonumber(ARGV[7]))

local told = redis.call("HGET", KEYS[8], ARGV[2])
if told then
  local number, lowest, following, lines = match(told, "^(%d+) (%d*) (%d+)\n(.*)$")
  if number == call then return { OK, lowest, following, lines } end
end

local first_op, last_op = 11, #ARGV - 2
local serials, nonces, asked, numbered, names = {}, {}, {}, 0, {}
local of_identity = { i = true, k = true, v = true, f = true, g = true, c = true, o = true }
local function ask(serial)
  if asked[serial] then return end
  asked[serial] = true
  serials[#serials + 1] = serial
end
for i = first_op, last_op, 3 do
  local code = ARGV[i]
  if code == "b" then
    numbered = numbered + 1
    local nonce = match(ARGV[i + 2], "^%S+ (%S+)")
    if nonce ~= "-" then nonces[#nonces + 1] = nonce end
  elseif code == "p" then
    numbered = numbered + 1
  elseif of_identity[code] then
    if code == "c" then
      for serial in gmatch(match(ARGV[i + 2], "^%S+ ?(.*)$"), "%S+") do ask(serial) end
    else
      numbered = numbered + 1
    end
    if not asked["id " .. ARGV[i + 1]] then
      asked["id " .. ARGV[i + 1]] = true
      names[#names + 1] = ARGV[i + 1]
    end
  elseif code ~= "n" then
    ask(ARGV[i + 1])
  end
end

local held = redis.call("HMGET", KEYS[1], "next", "entry", "created", "committed", "aborted", "timeout")
local following, entry = tonumber(held[1]), format("%d", tonumber(held[2]) + 1)
local created, committed, aborted, timeout = 0, 0, 0, 0
local active = redis.call("HLEN", KEYS[2]) - 1
local unused = numbered > 0 and numbers.lowest(following, now) or following -- what a call hands out begins here
local suffix = log_suffix(now, format("%d", math.max(unused + numbered - 1, 0)))
local txns, outcomes, by_nonce = {}, {}, {}

if #nonces > 0 then
  for i, serial in ipairs(hmget_chunked(KEYS[7], nonces)) do
    if serial then
      by_nonce[nonces[i]] = serial
      ask(serial)
    end
  end
end
local rows_of_names = #names > 0 and hmget_chunked(KEYS[11], names) or {}
for n = 1, #names do
  local serial = rows_of_names[n] and match(rows_of_names[n], "^%d+ %d+ %d+ (%d+)")
  if serial then ask(serial) end
end
if #serials > 0 then
  local rows, ended = hmget_chunked(KEYS[2], serials), nil
  for i = 1, #serials do
    local row = rows[i]
    if row then
      local t, positions = {}, find(row, "|", 1, true) + 1
      local participants = find(row, "|", positions, true) + 1
      t.state, t.deadline, t.fixed = match(row, "^(%u) (%d+) ([^|]*)")
      t.positions, t.participants = sub(row, positions, participants - 2), sub(row, participants)
      txns[serials[i]] = t
    else
      ended = ended or hmget_chunked(KEYS[5], serials)
      if ended[i] then outcomes[serials[i]] = string.sub(ended[i], 1, 1) end
    end
  end
end

local records, bits, lines, transitions = {}, {}, {}, {}
local changed, finished, fresh, named = {}, {}, {}, {}
local dying = {} -- positions of log records that nobody needs any more
--- @include "include/ended_transactions"

-- Every record names its transaction's serial and ends with the suffix; its place is remembered with the transaction.
-- Batched, all share an entry; else each has its own.
local count, batched, position, last_entry = 0, ARGV[8] == "1", entry .. ":", tonumber(held[2])
local function log(op, serial, txn, fields)
  count = count + 1
  if batched then
    local size = #op + 1 + #serial + #fields + #suffix
    records[count] = "\10" .. varint(size) .. op .. char(#serial) .. serial .. fields .. suffix
  else
    records[count] = op .. char(#serial) .. serial .. fields .. suffix
  end
  bits[count] = "1"
  txn.positions = txn.positions .. (batched and position .. count or format("%d:1", last_entry + count)) .. ","
  changed[serial] = txn
end

local function move(serial, txn, state)
  local step = txn.state .. state
  local fields = transitions[step]
  if not fields then
    fields = log_states(txn.state, state)
    transitions[step] = fields
  end
  log(UPDATE, serial, txn, fields)
  txn.state = state
end

--- @include "include/participants"

local function allocate()
  local number = format("%d", unused)
  unused = unused + 1
  following = unused
  return number
end

-- A new open transaction: its serial, or nil and the line that refuses it.
local function start(timeout_ms, owner, nonce)
  local limit = tonumber(ARGV[6])
  if limit > 0 and active >= limit then return nil, tostring(TOO_MANY) end
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
  local known = nonce ~= "-" and by_nonce[nonce]
  local held_by = known and txns[known]
  if known and not held_by and steps.is_kept(nonce) then return "0 " .. known .. " committed" end
  if held_by and (held_by.state == "O" or held_by.state == "C") or known and outcomes[known] == "C" then return "0 " .. known .. " again" end
  local serial, refusal = start(timeout_ms, owner, nonce)
  if not serial then return refusal end
  if nonce ~= "-" then
    by_nonce[nonce] = serial
    named[#named + 1], named[#named + 2] = nonce, serial
  end
  if participants ~= "" then add(serial, txns[serial], participants) end
  return "0 " .. serial
end

local function answer(txn)
  local identity = match(txn.fixed, " (@%S+)$")
  return "0 " .. txn.state .. " " .. (identity and identity .. " " or "") .. txn.participants
end

local function decide(serial, txn, wanted)
  if txn.state == "O" then
    move(serial, txn, wanted)
    txn.deadline, txn.is_timed = overdue, true
  elseif (txn.state == "C") ~= (wanted == "C") then
    return TXN_STATUS .. " " .. txn.state
  end
  return answer(txn)
end

local function expire(serial, txn)
  if tonumber(txn.deadline) > now then return "0 -" end
  if txn.state == "O" then
    move(serial, txn, "T")
    timeout = timeout + 1
  end
  txn.deadline, txn.is_timed = overdue, true -- whoever reads this has picked it up: the next sweep leaves it alone until then
  changed[serial] = txn
  return answer(txn)
end

local function done(serial, txn)
  if txn.state == "O" then return TXN_STATUS .. " O" end
  if not wide.forget(serial, txn) then return "0 more" end
  local outcome = txn.state
  move(serial, txn, outcome == "C" and "D" or "B")
  txn.state = outcome
  changed[serial], finished[serial], txns[serial], outcomes[serial] = nil, txn, nil, outcome
  dying[#dying + 1] = txn.positions
  active = active - 1
  if outcome == "C" then committed = committed + 1 else aborted = aborted + 1 end
  return "0 " .. outcome
end

local function when_ended(code, outcome, wanted)
  if code == "d" or (code == "e" and (outcome == "C") == (wanted == "C")) then return "0 ended " .. outcome end
  if code == "x" then return "0 -" end
  return TXN_STATUS .. " ended " .. outcome
end

-- What concerns transactional ids and names is built only for a call that has some: its functions cost each call as much as
-- an operation does.
local function load_identities()
  --- @include "include/transactional_ids"
  --- @include "include/commit_all"
  for n = 1, #names do read_identity(names[n], rows_of_names[n]) end
  return { acts = identity_acts, text = identity_text, changed = identities_changed, gone = identities_gone }
end
local identity = #names > 0 and load_identities()
local acts = { a = add, e = decide, x = expire, d = done }
for i = first_op, last_op, 3 do
  local code, serial = ARGV[i], ARGV[i + 1]
  local line
  if code == "b" then
    line = begin(serial, ARGV[i + 2])
  elseif code == "p" then
    line = "0 " .. allocate()
  elseif code == "n" then
    line = steps.answer(serial)
  elseif of_identity[code] then
    line = identity.acts[code](serial, ARGV[i + 2])
  elseif txns[serial] then
    line = acts[code](serial, txns[serial], ARGV[i + 2])
  elseif outcomes[serial] then
    line = when_ended(code, outcomes[serial], ARGV[i + 2])
  else
    line = tostring(TXN_NOT_FOUND)
  end
  lines[#lines + 1] = line
end

-- From here on everything is written.  Records of finished transactions die, here and in older entries.
wide.save()
local stale, stale_bits = {}, {}
for _, positions in ipairs(dying) do
  for e, i in gmatch(positions, "(%d+):(%d+)") do
    local ahead = tonumber(e) - last_entry -- above 0: an entry of this call
    if ahead > 0 then
      bits[batched and tonumber(i) or ahead] = "0"
    else
      local dead = stale_bits[e]
      if not dead then
        dead = {}
        stale[#stale + 1], stale_bits[e] = e, dead
      end
      dead[#dead + 1] = tonumber(i)
    end
  end
end
if #stale > 0 then
  local rows, kept, gone = hmget_chunked(KEYS[10], stale), {}, {}
  for n, e in ipairs(stale) do
    if rows[n] then
      local between, at = {}, 1
      table.sort(stale_bits[e])
      for k, i in ipairs(stale_bits[e]) do
        between[k], at = string.sub(rows[n], at, i - 1), i + 1
      end
      between[#between + 1] = string.sub(rows[n], at)
      local left = table.concat(between, "0")
      if find(left, "1", 1, true) then
        kept[#kept + 1], kept[#kept + 2] = e, left
      else
        gone[#gone + 1] = e
      end
    end
  end
  call_chunked("HSET", KEYS[10], kept)
  call_chunked("HDEL", KEYS[10], gone)
  for n, e in ipairs(gone) do gone[n] = e .. "-1" end
  call_chunked("XDEL", KEYS[9], gone)
end

local live = table.concat(bits)
if find(live, "1", 1, true) then
  if batched then
    redis.call("XADD", KEYS[9], entry .. "-1", "r", "\14\1\0\1" .. table.concat(records))
    redis.call("HSET", KEYS[10], entry, live)
  else
    for n = 1, count do
      if bits[n] == "1" then
        entry = format("%d", last_entry + n)
        redis.call("XADD", KEYS[9], entry .. "-1", "r", records[n])
        redis.call("HSET", KEYS[10], entry, "1")
      end
    end
  end
  redis.call("HSET", KEYS[1], "entry", entry)
end

local rows, times, ordered = {}, {}, {}
for serial, t in pairs(changed) do
  local n = #rows
  rows[n + 1] = serial
  rows[n + 2] = t.state .. " " .. t.deadline .. " " .. t.fixed .. "|" .. t.positions .. "|" .. t.participants
  if t.is_timed then times[#times + 1], times[#times + 2] = t.deadline, serial end
end
call_chunked("HSET", KEYS[2], rows)
call_chunked("ZADD", KEYS[4], times)
for _, serial in ipairs(fresh) do
  local n = #ordered
  ordered[n + 1], ordered[n + 2] = "0", rep("0", 15 - #serial) .. serial
end
call_chunked("ZADD", KEYS[3], ordered)
call_chunked("HSET", KEYS[7], named)
if identity then
  local renewed = {}
  for name, id in pairs(identity.changed) do
    renewed[#renewed + 1], renewed[#renewed + 2] = name, identity.text(id)
  end
  call_chunked("HDEL", KEYS[11], identity.gone)
  call_chunked("HSET", KEYS[11], renewed)
end
if next(finished) or next(steps.answered) then outcomes_save(finished) end
local following_text = format("%d", following)
if following_text ~= held[1] or committed + aborted + timeout > 0 then
  redis.call("HSET", KEYS[1], "next", following_text, "created", tonumber(held[3]) + created, "committed",
    tonumber(held[4]) + committed, "aborted", tonumber(held[5]) + aborted, "timeout", tonumber(held[6]) + timeout)
end
local lowest = redis.call("ZRANGEBYLEX", KEYS[3], "(", "+", "LIMIT", 0, 1)[1] or ""
local reply = table.concat(lines, "\n")
if numbered > 0 then redis.call("HSET", KEYS[8], ARGV[2], call .. " " .. lowest .. " " .. following_text .. "\n" .. reply) end
return { OK, lowest, following_text, reply }
