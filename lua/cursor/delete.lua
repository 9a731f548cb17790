#!lua flags=allow-oom
--[[ cursor/delete: delete a subscription on one partition, with its acknowledgements and leases.

KEYS        1 state  2 subs  3 cursor  4 acks  5 leases  6 spans  7 due  8 pending
ARGV        1 topic_id  2 name (percent-encoded)
            3 incarnation: delete only this one; "*" deletes any
RETURNS     {OK, 1 if it was deleted, its incarnation} | {UNKNOWN_TOPIC}
COMPLEXITY  O(1); memory is freed in the background
WRITES      every key; the end of a transaction with pending acks here finds none and succeeds
SOURCE      docs/decisions/0004, 0019
]]
--- @include "include/deadline"
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local existed, incarnation = redis.call("EXISTS", KEYS[3]), redis.call("HGET", KEYS[3], "incarnation") or ""
if ARGV[3] ~= "*" and incarnation ~= ARGV[3] then return { OK, 0, incarnation } end
redis.call("HDEL", KEYS[2], ARGV[2])
redis.call("UNLINK", KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8])
return { OK, existed, incarnation }
