#!lua flags=no-writes
--[[ txn/next_deadlines: of each coordinator, the time at which its next transaction is due.

KEYS        deadlines of the coordinators
ARGV        none
RETURNS     {OK, time or "", ...} in the order of KEYS; "": none is open
COMPLEXITY  O(n log m) for n coordinators with m transactions each
WRITES      nothing
SOURCE      TS-11
]]
--- @include "include/status"
local reply = { OK }
for _, key in ipairs(KEYS) do -- a member with score -1 keeps the key
  reply[#reply + 1] = redis.call("ZRANGEBYSCORE", key, 0, "+inf", "WITHSCORES", "LIMIT", 0, 1)[2] or ""
end
return reply
