#!lua flags=allow-oom
--[[ delay/restore: put entries that an index has lost back into the queue.  Entries of the queue do not change.

KEYS        1 state  2 queue
ARGV        1 topic_id
            2.. due_ms, member, due_ms, member ...
RETURNS     {OK} | {UNKNOWN_TOPIC}
COMPLEXITY  O(n log m)
WRITES      the queue
SOURCE      docs/decisions/0012
]]
--- @include "include/deadline"
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end

for i = 2, #ARGV, 4000 do redis.call("ZADD", KEYS[2], "NX", unpack(ARGV, i, math.min(i + 3999, #ARGV))) end
return { OK }
