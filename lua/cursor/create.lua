#!lua flags=allow-oom
--[[ cursor/create: create a subscription on one partition.

The cursor on partition 0 comes first and registers the subscription with an incarnation, a random word.  The cursors of
the other partitions have the same incarnation.  A cursor with another one is left from a deleted subscription and is
replaced.

KEYS        1 state  2 subs  3 cursor  4 acks  5 leases  6 spans  7 due  8 pending
            9 none  only to replace a leftover: store/keys
ARGV        1 topic_id  2 name (percent-encoded)  3 kind (exclusive, failover, shared or key_shared)
            4 start (earliest, latest or an offset)  5 now_ms
            6 incarnation: on partition 0 the one for a new subscription, elsewhere the registered one
            7 partitions: of the topic; "" on every partition but 0
RETURNS     {OK, created 0 or 1} | {EXISTS, kind} if it is registered with another kind
            | {BAD_OFFSET, start, next} | {UNKNOWN_TOPIC} | {STALE} if a leftover is to be replaced and `none` is missing
COMPLEXITY  O(1)
WRITES      only if this incarnation is absent; every key gets a sentinel so that it always exists
SOURCE      docs/decisions/0004, 0019
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/start_offset"
local state = redis.call("HMGET", KEYS[1], "topic_id", "start", "next")
if state[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local registers = ARGV[7] ~= ""
local held = redis.call("HMGET", KEYS[3], "kind", "incarnation")
local incarnation = held[2] or ""
if held[1] and registers then
  if held[1] ~= ARGV[3] then return { EXISTS, held[1] } end
  return { OK, incarnation == ARGV[6] and 1 or 0 } -- the same incarnation: a retry of the call that created it
end
if held[1] == ARGV[3] and incarnation == ARGV[6] then return { OK, 0 } end

local at = start_offset(ARGV[4], state)
if not at then return { BAD_OFFSET, state[2], state[3] } end
-- Keys that are deleted and created again are lost while their slot migrates, so this waits for the end of a migration.
if held[1] and not KEYS[9] then return { STALE } end
redis.call("UNLINK", KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8])
redis.call("HSET", KEYS[3], "kind", ARGV[3], "created", ARGV[5], "mark", at, "read", at, "leased", 0, "returned", 0, "held", 0,
  "delivered", 0, "redelivered", 0, "consumer", "", "consumer_until", 0, "tracked", 0, "incarnation", ARGV[6])
if registers then redis.call("HSET", KEYS[3], "start", ARGV[4], "partitions", ARGV[7]) end
for _, key in ipairs({ KEYS[4], KEYS[5], KEYS[8] }) do redis.call("HSET", key, "", "") end
for _, key in ipairs({ KEYS[6], KEYS[7] }) do redis.call("ZADD", key, -1, "") end
redis.call("HSET", KEYS[2], ARGV[2], ARGV[3])
return { OK, 1 }
