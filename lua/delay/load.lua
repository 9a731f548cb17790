#!lua flags=allow-oom
--[[ delay/load: put entries of a sealed bucket's next segment into the queue; with the last of them the bucket moves on.

A part that is loaded twice is harmless: what fired meanwhile has its live bit cleared.

KEYS        1 state  2 queue  3 buckets  4 next  5 delay state
ARGV        1 topic_id  2 name of the bucket  3 its row as the caller knows it
            4 its row afterwards ("=" more of this segment follows, "" the bucket is done)
            5 member of next now  6 member of next afterwards  7 due_ms of that
            8.. due_ms, member, due_ms, member ...
RETURNS     {OK} | {STALE} when another broker has loaded it | {UNKNOWN_TOPIC}
COMPLEXITY  O(n log m)
WRITES      only while the row and the member are those the caller knows
SOURCE      PIP-195 "load the next segment"
]]
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
if redis.call("HGET", KEYS[3], ARGV[2]) ~= ARGV[3] or not redis.call("ZSCORE", KEYS[4], ARGV[5]) then return { STALE } end

-- What is in the queue stays where it is: a record may have been moved since this snapshot was written.
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
