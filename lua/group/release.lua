#!lua flags=allow-oom
--[[ group/release: release a group, so that another broker can claim it at once.

KEYS        1 state
ARGV        1 broker
RETURNS     {OK}
COMPLEXITY  O(1)
WRITES      only if the broker is the owner; kind and generation stay
SOURCE      docs/architecture.md
]]
--- @include "include/deadline"
--- @include "include/status"
if redis.call("HGET", KEYS[1], "owner") == ARGV[1] then redis.call("HDEL", KEYS[1], "owner") end
return { OK }
