#!lua flags=allow-oom
--[[ offload/publish: the segments of a plan join the manifest, `cold` moves to their end, and the plan is done.

From here on what lies below `cold` may lose its payload.  The caller has compared the segments with the plan, so the plan
as a whole is what is compared here; while it is stored, nothing else moves `cold`.

KEYS        1 state  2 cold  hash  first offset → segment, "plan", "version"
ARGV        1 topic_id  2 plan (JSON) as the segments were compared with it  3 its end
            4.. the segments: first offset, segment (JSON)
RETURNS     {OK, cold, version} | {STALE, cold} the plan is not the one that is stored (any more) | {UNKNOWN_TOPIC}
COMPLEXITY  O(segments)
WRITES      only when the plan is the stored one; a retry finds its segments in the manifest
SOURCE      docs/decisions/0014; KIP-405 (remote log metadata)
]]
--- @include "include/status"
local held = redis.call("HMGET", KEYS[1], "topic_id", "cold")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local cold = held[2] or "0"
if redis.call("HGET", KEYS[2], "plan") ~= ARGV[2] then
  for i = 4, #ARGV, 2 do
    if redis.call("HGET", KEYS[2], ARGV[i]) ~= ARGV[i + 1] then return { STALE, cold } end
  end
  return { OK, cold, redis.call("HGET", KEYS[2], "version") or "0" } -- published by the call that this one repeats
end

for i = 4, #ARGV, 2 do redis.call("HSET", KEYS[2], ARGV[i], ARGV[i + 1]) end
redis.call("HSET", KEYS[1], "cold", ARGV[3])
redis.call("HDEL", KEYS[2], "plan")
return { OK, ARGV[3], redis.call("HINCRBY", KEYS[2], "version", 1) }
