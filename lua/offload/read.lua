#!lua flags=allow-oom
--[[ offload/read: read a partition's offsets and its manifest atomically; at maxmemory Redis rejects reads in a MULTI.

KEYS        1 state  2 cold  hash  first offset → segment, "plan", "version"
ARGV        1 topic_id  2 version (1: only the manifest's version, 0: all of it)
RETURNS     {OK, start, stable, cold, active ledger, version or "0"}, or all fields and values of the manifest instead of
            the version | {UNKNOWN_TOPIC}
COMPLEXITY  O(segments), O(1) for the version
SOURCE      docs/decisions/0014
]]
--- @include "include/deadline"
--- @include "include/status"
local held = redis.call("HMGET", KEYS[1], "topic_id", "start", "stable", "cold", "ledger")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local found
if ARGV[2] == "1" then
  found = redis.call("HGET", KEYS[2], "version") or "0"
else
  found = redis.call("HGETALL", KEYS[2])
end
return { OK, held[2], held[3], held[4] or "0", held[5], found }
