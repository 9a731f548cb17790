#!lua flags=allow-oom
--[[ offload/abandon: delete a plan, so that another one can be stored.

KEYS        1 state  2 cold  hash  first offset → segment, "plan", "version"
ARGV        1 topic_id  2 plan (JSON)
RETURNS     {OK} no plan is stored now | {STALE} another one is stored | {UNKNOWN_TOPIC}
COMPLEXITY  O(1)
WRITES      only if the plan is the stored one
SOURCE      docs/decisions/0014
]]
--- @include "include/deadline"
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local plan = redis.call("HGET", KEYS[2], "plan")
if not plan then return { OK } end
if plan ~= ARGV[2] then return { STALE } end

redis.call("HDEL", KEYS[2], "plan")
return { OK }
