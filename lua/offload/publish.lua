#!lua flags=allow-oom
--[[ offload/publish: add the segments of a plan to the manifest, move `cold` to their end, and delete the plan.

From then on payload below `cold` may be deleted.  The caller has compared the segments with the plan, so the script only
compares the plan; while it is stored, no other call moves `cold`.

KEYS        1 state  2 cold  hash  first offset → segment, "plan", "version"
ARGV        1 topic_id  2 plan (JSON) as the segments were compared with it  3 its end
            4.. the segments: first offset, segment (JSON)
RETURNS     {OK, cold, version} | {STALE, cold} the plan is not the stored one | {UNKNOWN_TOPIC}
COMPLEXITY  O(segments)
WRITES      only if the plan is the stored one; a retry finds its segments in the manifest
SOURCE      docs/decisions/0014; KIP-405 (remote log metadata)
]]
--- @include "include/deadline"
--- @include "include/status"
local held = redis.call("HMGET", KEYS[1], "topic_id", "cold")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local cold = held[2] or "0"
if redis.call("HGET", KEYS[2], "plan") ~= ARGV[2] then
  for i = 4, #ARGV, 2 do
    if redis.call("HGET", KEYS[2], ARGV[i]) ~= ARGV[i + 1] then return { STALE, cold } end
  end
  return { OK, cold, redis.call("HGET", KEYS[2], "version") or "0" } -- a retry: already published
end

for i = 4, #ARGV, 2 do redis.call("HSET", KEYS[2], ARGV[i], ARGV[i + 1]) end
redis.call("HSET", KEYS[1], "cold", ARGV[3])
redis.call("HDEL", KEYS[2], "plan")
return { OK, ARGV[3], redis.call("HINCRBY", KEYS[2], "version", 1) }
