#!lua
--[[ cursor/create: make a subscription on one partition.

KEYS        1 state  2 subs  3 cursor  4 acks  5 leases  6 spans  7 due  8 pending
ARGV        1 topic_id  2 name (percent-encoded)  3 kind (exclusive or shared)  4 start (earliest, latest or an offset)
            5 now_ms
RETURNS     {OK, created 0 or 1} | {EXISTS, kind} when it is there with another kind | {BAD_OFFSET, start, next}
            | {UNKNOWN_TOPIC}
COMPLEXITY  O(1)
WRITES      only when it is not there; every key gets a sentinel so that it always exists
SOURCE      docs/decisions/0004
]]
--- @include "include/status"
--- @include "include/where"
local state = redis.call("HMGET", KEYS[1], "topic_id", "start", "next")
if state[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local held = redis.call("HMGET", KEYS[3], "kind", "created")
if held[1] and held[1] ~= ARGV[3] then return { EXISTS, held[1] } end
if held[1] then return { OK, held[2] == ARGV[5] and 1 or 0 } end -- the same time: the same call, repeated

local at = offset_of(ARGV[4], state)
if not at then return { BAD_OFFSET, state[2], state[3] } end
redis.call("HSET", KEYS[3], "kind", ARGV[3], "created", ARGV[5], "mark", at, "read", at, "leased", 0, "held", 0,
  "delivered", 0, "redelivered", 0, "consumer", "", "consumer_until", 0, "session", 0)
for _, key in ipairs({ KEYS[4], KEYS[5], KEYS[8] }) do redis.call("HSET", key, "", "") end
for _, key in ipairs({ KEYS[6], KEYS[7] }) do redis.call("ZADD", key, -1, "") end
redis.call("HSET", KEYS[2], ARGV[2], ARGV[3])
return { OK, 1 }
