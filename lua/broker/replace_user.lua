#!lua flags=allow-oom
--[[ broker/replace_user: replace the row of a user if it is still the one the caller read.

KEYS        1 users
ARGV        1 user  2 row the caller read ("" none)  3 new row ("" deletes the user)
RETURNS     {OK} | {STALE, current row or ""}
COMPLEXITY  O(1)
WRITES      only if the row is as expected; a retry that finds the new row returns OK
SOURCE      KIP-554 "SCRAM credentials"
]]
--- @include "include/deadline"
--- @include "include/status"
local now = redis.call("HGET", KEYS[1], ARGV[1]) or ""
if now == ARGV[3] then return { OK } end
if now ~= ARGV[2] then return { STALE, now } end

if ARGV[3] == "" then
  redis.call("HDEL", KEYS[1], ARGV[1])
else
  redis.call("HSET", KEYS[1], ARGV[1], ARGV[3])
end
return { OK }
