#!lua flags=allow-oom
--[[ broker/replace_user: change what is kept of one user if it still is what the caller saw.

KEYS        1 users
ARGV        1 user  2 what is kept as the caller knows it ("" nothing)  3 what to keep ("" forgets the user)
RETURNS     {OK} | {STALE, what is kept now or ""}
COMPLEXITY  O(1)
WRITES      only when it is as expected; a retry that finds the new state answers OK
SOURCE      KIP-554 "SCRAM credentials"
]]
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
