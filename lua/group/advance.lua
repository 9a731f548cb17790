#!lua flags=allow-oom
--[[ group/advance: advance the generation of a group; only its owner may.

KEYS        1 state  hash  as in group/claim
ARGV        1 broker  2 generation  int  the caller's current one  3 type  protocol type of the members
RETURNS     {OK, generation} | {NOT_OWNER, owner or ""}
COMPLEXITY  O(1)
WRITES      only when it returns OK; a stored generation one above the caller's is from a lost reply to this call: it is returned
SOURCE      docs/architecture.md; generations as in Kafka's JoinGroup
]]
--- @include "include/deadline"
--- @include "include/status"
local held = redis.call("HMGET", KEYS[1], "owner", "generation")
if held[1] ~= ARGV[1] then return { NOT_OWNER, held[1] or "" } end
local stored, last = tonumber(held[2] or 0), tonumber(ARGV[2])
if stored > last then return { OK, string.format("%d", stored) } end

local following = string.format("%d", last + 1)
redis.call("HSET", KEYS[1], "generation", following, "type", ARGV[3])
return { OK, following }
