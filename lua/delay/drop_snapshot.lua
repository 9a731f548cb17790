#!lua flags=allow-oom
--[[ delay/drop_snapshot: delete a snapshot that no bucket lists.

KEYS        1 state  2 buckets  3 snaps  4 snapshot
ARGV        1 topic_id  2 snapshot id  3 begun before this time, ms (0: any time)
RETURNS     {OK, dropped 0 or 1} | {UNKNOWN_TOPIC}
COMPLEXITY  O(buckets)
WRITES      only when no bucket refers to it
SOURCE      requirement DD-37
]]
--- @include "include/deadline"
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local begun = tonumber(redis.call("HGET", KEYS[3], ARGV[2]) or "")
if not begun or (ARGV[3] ~= "0" and begun >= tonumber(ARGV[3])) then return { OK, 0 } end
for _, row in ipairs(redis.call("HVALS", KEYS[2])) do
  if string.match(row, "^%S*") == ARGV[2] then return { OK, 0 } end
end

redis.call("UNLINK", KEYS[4])
redis.call("HDEL", KEYS[3], ARGV[2])
return { OK, 1 }
