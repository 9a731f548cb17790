#!lua flags=allow-oom
--[[ delay/replace: replace buckets by one (a merge), or a bucket by its rebuilt version.

The new snapshot is complete and announced before this call; those of the sources are deleted after it.

KEYS        1 state  2 buckets  3 next  4 snaps  5 delay state
ARGV        1 topic_id  2 name of the new bucket  3 its row ("" no entry is pending)  4 its snapshot id
            5 member of next  6 first due_ms  7 number of sources
            8.. the sources: name  row that the caller read ("" it is not listed)  member of next ("" none)
RETURNS     {OK} | {STALE} if a source has changed | {UNKNOWN_TOPIC}
COMPLEXITY  O(sources log buckets)
WRITES      only if every source is as the caller read it
SOURCE      PIP-195 "merge"
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/stored_values"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check_counters("The counters of delayed records", KEYS[5], "version")
local last = 7 + 3 * tonumber(ARGV[7])
for i = 8, last, 3 do
  local is_known = (redis.call("HGET", KEYS[2], ARGV[i]) or "") == ARGV[i + 1]
  local is_next = ARGV[i + 2] == "" or redis.call("ZSCORE", KEYS[3], ARGV[i + 2])
  if not is_known or not is_next then return { STALE } end
end
if ARGV[3] ~= "" and redis.call("HEXISTS", KEYS[4], ARGV[4]) == 0 then return { STALE } end

redis.call("HINCRBY", KEYS[5], "version", "1")
for i = 8, last, 3 do
  redis.call("HDEL", KEYS[2], ARGV[i])
  if ARGV[i + 2] ~= "" then redis.call("ZREM", KEYS[3], ARGV[i + 2]) end
end
if ARGV[3] ~= "" then
  redis.call("HSET", KEYS[2], ARGV[2], ARGV[3])
  redis.call("ZADD", KEYS[3], ARGV[6], ARGV[5])
end
return { OK }
