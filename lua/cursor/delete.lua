#!lua flags=allow-oom
--[[ cursor/delete: remove a subscription from one partition, whatever it holds.

KEYS        1 state  2 subs  3 cursor  4 acks  5 leases  6 spans  7 due  8 pending
ARGV        1 topic_id  2 name (percent-encoded)
            3 incarnation: remove it only if it is this one, or has none (made by an earlier release); "*" removes any
RETURNS     {OK, 1 when it was removed, its incarnation} | {UNKNOWN_TOPIC}
COMPLEXITY  O(1); memory is freed in the background
WRITES      all of it; an end of a transaction that held acks here finds nothing and succeeds
SOURCE      docs/decisions/0004, 0019
]]
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local existed, incarnation = redis.call("EXISTS", KEYS[3]), redis.call("HGET", KEYS[3], "incarnation") or ""
if ARGV[3] ~= "*" and incarnation ~= "" and incarnation ~= ARGV[3] then return { OK, 0, incarnation } end
redis.call("HDEL", KEYS[2], ARGV[2])
redis.call("UNLINK", KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8])
return { OK, existed, incarnation }
