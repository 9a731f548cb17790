#!lua
--[[ delay/move: change the due time of one scheduled record.  Its old index entry stays and is skipped.

KEYS        1 state  2 delay state  3 open  4 queue  5 live  6 parts  7 moved
ARGV        1 topic_id  2 entry  3 index  4 due_ms  5 delay ledger
            6 the rest of its member: ledger records bytes newest_ms
RETURNS     {OK} | {STALE} if it is not pending | {UNKNOWN_TOPIC}
COMPLEXITY  O(log m + records of the entry)
WRITES      parts, moved, a sorted set
SOURCE      requirement DD-64
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
--- @include "include/live_bitmap"
--- @include "include/scheduled_entries"
local delay, index = KEYS[2], tonumber(ARGV[3])
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check_counters("The counters of delayed records", delay, "open")
live.open(KEYS[5])
if not live.holds(tonumber(ARGV[2])) then return { STALE } end
local parts = redis.call("HGET", KEYS[6], ARGV[2])
if not parts then parts = string.rep("1", tonumber(string.match(ARGV[6], "^%S+ (%d+)"))) end
local mark = string.sub(parts, index + 1, index + 1)
if not string.find(mark, "[1bm]") then return { STALE } end
local is_open = -tonumber(ARGV[5]) >= -tonumber(redis.call("HGET", delay, "first"))

local name = ARGV[2] .. "." .. ARGV[3]
redis.call("HSET", KEYS[6], ARGV[2], string.sub(parts, 1, index) .. "m" .. string.sub(parts, index + 2))
redis.call("HSET", KEYS[7], name, ARGV[4])
local member = string.format("%012d", tonumber(ARGV[2])) .. "." .. ARGV[3] .. " " .. ARGV[6]
redis.call("ZREM", is_open and KEYS[4] or KEYS[3], member)
redis.call("ZADD", is_open and KEYS[3] or KEYS[4], ARGV[4], member)
if is_open then redis.call("HINCRBY", delay, "open", "1") end
return { OK }
