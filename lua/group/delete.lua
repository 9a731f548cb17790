#!lua flags=allow-oom
--[[ group/delete: forget a group that its owner has found to be without members and offsets.

KEYS        1 state
ARGV        1 broker
RETURNS     {OK} | {NOT_OWNER, owner}
COMPLEXITY  O(1)
WRITES      only when it returns OK; nothing to delete is OK
SOURCE      KIP-229 (DeleteGroups)
]]
--- @include "include/status"
local owner = redis.call("HGET", KEYS[1], "owner")
if owner and owner ~= ARGV[1] then return { NOT_OWNER, owner } end

redis.call("DEL", KEYS[1])
return { OK }
