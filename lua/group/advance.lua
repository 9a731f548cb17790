#!lua flags=allow-oom
--[[ group/advance: the next generation of a group, for its owner alone.

KEYS        1 state  hash  as group/claim has it
ARGV        1 broker  2 generation  int  the last one that the caller handed out  3 type  protocol type of the members
RETURNS     {OK, generation} | {NOT_OWNER, owner, "" for none}
COMPLEXITY  O(1)
WRITES      only when it returns OK; one above the caller's was stored by this very call before, and is its answer
SOURCE      docs/architecture.md; generations as in Kafka's JoinGroup
]]
--- @include "include/status"
local held = redis.call("HMGET", KEYS[1], "owner", "generation")
if held[1] ~= ARGV[1] then return { NOT_OWNER, held[1] or "" } end
local stored, last = tonumber(held[2] or 0), tonumber(ARGV[2])
if stored > last then return { OK, string.format("%d", stored) } end

local following = string.format("%d", last + 1)
redis.call("HSET", KEYS[1], "generation", following, "type", ARGV[3])
return { OK, following }
