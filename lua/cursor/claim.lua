#!lua flags=allow-oom
--[[ cursor/claim: make a consumer the owner of an exclusive subscription, or extend its session.

Ownership is decided on partition 0.  Every new owner raises the epoch, and cursor/receive refuses a lower epoch, so a
replaced owner cannot receive messages from any partition.

    partition 0    owner c2, epoch 4, until 12:00:30
    partition 5    epoch 3 (owner c1)    a receive of c2 with epoch 4 raises it; c1 with epoch 3 is then refused

An owner cannot extend its session while Redis is unavailable.  If its session was valid when an outage began, it has a
full session after the outage.

KEYS        1 state  2 cursor (of partition 0)
ARGV        1 topic_id  2 consumer  3 now_ms  4 session_ms  5 take (1: become the owner if there is none; 0: only extend)
            6 began_ms  7 ended_ms (the last outage of Redis that the caller observed; "" for none)
RETURNS     {OK, epoch} | {CONSUMER_BUSY, owner, remaining ms of its session} | {UNKNOWN_TOPIC} | {UNKNOWN_SUB}
            | {WRONG_KIND, shared or kafka}
COMPLEXITY  O(1)
WRITES      only when it returns OK; a repeated call returns the same epoch
SOURCE      docs/decisions/0019; consumer epochs of Pulsar's exclusive subscriptions
]]
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local held = redis.call("HMGET", KEYS[2], "kind", "owner", "owner_until", "owner_epoch", "consumer", "consumer_until")
if not held[1] then return { UNKNOWN_SUB } end
if held[1] ~= "exclusive" then return { WRONG_KIND, held[1] } end
-- A cursor of an earlier release has no owner: the consumer of this partition becomes the owner.
local owner, ends, epoch = held[2] or held[5], tonumber(held[3] or held[6]), tonumber(held[4] or 0)
local now, session = tonumber(ARGV[3]), tonumber(ARGV[4])
local began, ended = tonumber(ARGV[6]), tonumber(ARGV[7])
if began and ends > began then ends = math.max(ends, ended + session) end
if owner ~= ARGV[2] then
  if ends > now or ARGV[5] ~= "1" then return { CONSUMER_BUSY, owner, math.max(ends - now, 0) } end
  epoch = epoch + 1
end
ends = string.format("%d", math.max(ends, now + session))
redis.call("HSET", KEYS[2], "owner", ARGV[2], "owner_until", ends, "owner_epoch", epoch)
return { OK, epoch }
