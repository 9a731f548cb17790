#!lua flags=allow-oom
--[[ delay/rearm: schedule a recurring entry again after it has fired, or end it.  Its payload is not moved.

KEYS        1 state  2 ledgers  3 delay state  4 open  5 queue  6 live  7 parts  8 repeats
ARGV        1 topic_id  2 entry  3 its "!" row that the caller read  4 due_ms ("" it has ended)  5 its new recurrence
RETURNS     {OK, 1 done, or 0 if another broker has done it} | {UNKNOWN_TOPIC}
COMPLEXITY  O(log m)
WRITES      only if the "!" row is the one the caller read
SOURCE      docs/decisions/0012
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
--- @include "include/live_bitmap"
--- @include "include/scheduled_entries"
local delay = KEYS[3]
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check_counters("The counters of delayed records", delay, "owed", "open", "entries", "records")
if redis.call("HGET", KEYS[8], "!" .. ARGV[2]) ~= ARGV[3] then return { OK, 0 } end
local member = string.match(ARGV[3], "^%d+ (.*)$")
local entry, _, ledger, records = member_parts(member)
local is_open = -tonumber(ledger) >= -tonumber(redis.call("HGET", delay, "first"))
local row = ledger_row(redis.call("HGET", KEYS[2], ledger))

redis.call("HDEL", KEYS[8], "!" .. ARGV[2])
redis.call("HINCRBY", delay, "owed", "-1")
redis.call("HDEL", KEYS[7], ARGV[2])
if ARGV[4] == "" then
  redis.call("HDEL", KEYS[8], ARGV[2])
  row.unlogged = row.unlogged - 1
  redis.call("HSET", KEYS[2], ledger, ledger_text(row))
  return { OK, 1 }
end
redis.call("HSET", KEYS[8], ARGV[2], ARGV[5])
live.open(KEYS[6])
live.fill(entry, entry)
live.save()
redis.call("ZADD", is_open and KEYS[4] or KEYS[5], ARGV[4], member)
if is_open then redis.call("HINCRBY", delay, "open", "1") end
redis.call("HINCRBY", delay, "entries", "1")
redis.call("HINCRBY", delay, "records", whole(records))
return { OK, 1 }
