#!lua flags=allow-oom
--[[ offload/plan: store the offset ranges to be written to Parquet next, unless a plan is stored already.

KEYS        1 state  2 cold  hash  first offset → segment, "plan", "version"
ARGV        1 topic_id  2 plan (JSON)  3 cold: end of the published segments that the planner read  4 end of the plan
RETURNS     {OK, plan} the stored one | {STALE, cold, stable offset} `cold` has moved, or the end is above the stable
            offset: plan again | {UNKNOWN_TOPIC}
COMPLEXITY  O(1)
WRITES      only if there is no plan; a retry returns its own
SOURCE      docs/decisions/0014
]]
--- @include "include/deadline"
--- @include "include/status"
local held = redis.call("HMGET", KEYS[1], "topic_id", "cold", "stable")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local plan = redis.call("HGET", KEYS[2], "plan")
if plan then return { OK, plan } end
local cold = held[2] or "0"
if cold ~= ARGV[3] or tonumber(ARGV[4]) > tonumber(held[3]) then return { STALE, cold, held[3] } end

redis.call("HSET", KEYS[2], "plan", ARGV[2])
return { OK, ARGV[2] }
