#!lua
--[[ ledger/catalog: change one topic's catalog entry if it still is what the caller saw, and count the version up.

KEYS        1 topics  2 state
ARGV        1 topic  2 entry as the caller knows it ("" absent)  3 new entry ("" removes it)
RETURNS     {OK, version} | {STALE, entry now or ""}
COMPLEXITY  O(1)
WRITES      only when the entry is as expected; a retry that finds the new entry answers OK
SOURCE      docs/architecture.md "topics"
]]
--- @include "include/status"
local now = redis.call("HGET", KEYS[1], ARGV[1]) or ""
if now == ARGV[3] then return { OK, tonumber(redis.call("HGET", KEYS[2], "version") or 0) } end
if now ~= ARGV[2] then return { STALE, now } end

if ARGV[3] == "" then
  redis.call("HDEL", KEYS[1], ARGV[1])
else
  redis.call("HSET", KEYS[1], ARGV[1], ARGV[3])
end
return { OK, redis.call("HINCRBY", KEYS[2], "version", 1) }
