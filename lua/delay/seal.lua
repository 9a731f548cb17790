#!lua flags=allow-oom
--[[ delay/seal: list a bucket whose snapshot is written, and delete its sorted set.

KEYS        1 state  2 delay state  3 closing  4 buckets  5 next  6 snaps; and `none`: store/keys
ARGV        1 topic_id  2 name of the bucket  3 its row ("" if no entry is pending)  4 snapshot id
            5 member of next  6 first due_ms
RETURNS     {OK} | {STALE} if another broker has sealed it | {UNKNOWN_TOPIC}
COMPLEXITY  O(buckets); Redis frees the set in the background
WRITES      only while this bucket is closing
SOURCE      PIP-195 "seal"
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/stored_values"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check_counters("The counters of delayed records", KEYS[2], "version")
if redis.call("HGET", KEYS[2], "closing") ~= ARGV[2] then return { STALE } end
if ARGV[3] ~= "" and redis.call("HEXISTS", KEYS[6], ARGV[4]) == 0 then return { STALE } end

if ARGV[3] ~= "" then
  redis.call("HSET", KEYS[4], ARGV[2], ARGV[3])
  redis.call("ZADD", KEYS[5], ARGV[6], ARGV[5])
end
redis.call("UNLINK", KEYS[3])
redis.call("ZADD", KEYS[3], -1, "")
redis.call("HSET", KEYS[2], "closing", "")
redis.call("HINCRBY", KEYS[2], "version", "1")
return { OK }
