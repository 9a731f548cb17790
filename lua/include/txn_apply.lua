-- Applies the operations of a call in memory (txn/apply, txn/apply_and_end): `replies` has a reply for each of them, and
-- include/txn_write writes what they changed.  A repeated call returns here, with the replies of the first.
-- Uses of the script: first_op and last_op, the places of the first and the last operation in ARGV.
--- @include "include/status"
--- @include "include/id_allocation"
--- @include "include/txn_log"
--- @include "include/chunked"
local match, gmatch, find, format, rep, sub = string.match, string.gmatch, string.find, string.format, string.rep, string.sub
local now, call, overdue = tonumber(ARGV[1]), ARGV[3], format("%d", tonumber(ARGV[1]) + tonumber(ARGV[7]))

local stored_call = redis.call("HGET", KEYS[8], ARGV[2])
if stored_call then
  local number, lowest, following, replies = match(stored_call, "^(%d+) (%d*) (%d+)\n(.*)$")
  if number == call then return { OK, lowest, following, replies, "0" } end
end

--- @include "include/txn_read"
local records, bits, replies = {}, {}, {}
local changed, finished, fresh, named = {}, {}, {}, {}
local dying = {} -- positions of log records that are no longer needed
local is_decided_here = false -- whether a transaction was decided and completed by this call
--- @include "include/ended_transactions"
--- @include "include/txn_operations"

--- @include "include/transactional_ids"
--- @include "include/commit_all"
for n = 1, #names do read_identity(names[n], rows_of_names[n]) end
local operations = { add = add, ["end"] = decide, expire = expire, complete = complete }
for i = first_op, last_op, 3 do
  local name, subject, reply = ARGV[i], ARGV[i + 1], nil
  if name == "begin" then
    reply = begin(subject, ARGV[i + 2])
  elseif name == "allocate" then
    reply = { OK, allocate() }
  elseif name == "forget_step" then
    reply = steps.forget(subject)
  elseif BY_NAME[name] then
    reply = identity_operations[name](subject, ARGV[i + 2])
  elseif txns[subject] then
    reply = operations[name](subject, txns[subject], ARGV[i + 2])
  elseif outcomes[subject] then
    reply = reply_ended(name, outcomes[subject], ARGV[i + 2])
  else
    reply = { TXN_NOT_FOUND }
  end
  replies[#replies + 1] = reply
end
