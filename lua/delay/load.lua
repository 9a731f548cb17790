#!lua flags=allow-oom
--[[ delay/load: put entries of a sealed bucket's next segment into the queue; the last call advances the bucket.

Loading a part twice is harmless: entries that fired in between have a cleared live bit.

KEYS        1 state  2 queue  3 buckets  4 next  5 delay state
ARGV        1 topic_id  2 name of the bucket  3 its row that the caller read
            4 its new row ("=" more of this segment follows, "" the bucket is done)
            5 current member of next  6 new member of next  7 due_ms of the new one
            8.. due_ms, member, due_ms, member ...
RETURNS     {OK} | {STALE} if another broker has loaded it | {UNKNOWN_TOPIC}
COMPLEXITY  O(n log m)
WRITES      only if the row and the member are those the caller read
SOURCE      PIP-195 "load the next segment"
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/stored_values"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check_counters("The counters of delayed records", KEYS[5], "version")
if redis.call("HGET", KEYS[3], ARGV[2]) ~= ARGV[3] or not redis.call("ZSCORE", KEYS[4], ARGV[5]) then return { STALE } end

-- NX keeps entries of the queue: a record may have been moved since this snapshot was written.
for i = 8, #ARGV, 4000 do redis.call("ZADD", KEYS[2], "NX", unpack(ARGV, i, math.min(i + 3999, #ARGV))) end
if ARGV[4] ~= "=" then
  redis.call("ZREM", KEYS[4], ARGV[5])
  redis.call("HINCRBY", KEYS[5], "version", "1")
  if ARGV[4] == "" then
    redis.call("HDEL", KEYS[3], ARGV[2])
  else
    redis.call("HSET", KEYS[3], ARGV[2], ARGV[4])
    redis.call("ZADD", KEYS[4], ARGV[7], ARGV[6])
  end
end
return { OK }
