#!lua flags=allow-oom
--[[ group/delete: delete a group without members and offsets; only its owner may.

KEYS        1 state
ARGV        1 broker
RETURNS     {OK} | {NOT_OWNER, owner}
COMPLEXITY  O(1)
WRITES      only when it returns OK; deleting an absent group returns OK
SOURCE      KIP-229 (DeleteGroups)
]]
--- @include "include/deadline"
--- @include "include/status"
local owner = redis.call("HGET", KEYS[1], "owner")
if owner and owner ~= ARGV[1] then return { NOT_OWNER, owner } end

redis.call("DEL", KEYS[1])
return { OK }
