#!lua flags=allow-oom
--[[ cursor/claim: make a consumer the owner of a subscription with one active consumer, or extend its session.

Ownership is decided on partition 0.  Every new owner raises the epoch, and cursor/receive refuses a lower epoch, so a
replaced owner cannot receive messages from any partition.

    partition 0    owner c2, epoch 4, until 12:00:30
    partition 5    epoch 3 (owner c1)    a receive of c2 with epoch 4 raises it; c1 with epoch 3 is then refused

An exclusive subscription refuses any other consumer.  A failover subscription keeps it as a stand-by (include/consumers).
When the owner has left or its session has ended, the stand-by that joined first becomes the owner, whichever of them
calls first.  Stand-bys without a call in the last half of a session are passed over, unless they are the caller.

An owner cannot extend its session while Redis is unavailable.  If its session was valid when an outage began, it has a
full session after the outage.

KEYS        1 state  2 cursor (of partition 0)
ARGV        1 topic_id  2 consumer  3 now_ms  4 session_ms
            5 take (1: become the owner if there is none, or a stand-by; 0: only extend)
            6 began_ms  7 ended_ms (the last outage of Redis that the caller observed; "" for none)
RETURNS     {OK, epoch} | {OK, -1, owner, remaining ms of its session} not the owner of a failover subscription
            | {CONSUMER_BUSY, owner, remaining ms} | {TOO_MANY} stand-bys | {UNKNOWN_TOPIC} | {UNKNOWN_SUB}
            | {WRONG_KIND, shared, key_shared or kafka}
COMPLEXITY  O(1); O(c log c) for c consumers of a failover subscription
WRITES      only when it returns OK; a repeated call returns the same epoch
SOURCE      docs/decisions/0019, 0045; consumer epochs of Pulsar's exclusive subscriptions
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/consumers"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local held = redis.call("HMGET", KEYS[2], "kind", "owner", "owner_until", "owner_epoch")
if not held[1] then return { UNKNOWN_SUB } end
if held[1] ~= "exclusive" and held[1] ~= "failover" then return { WRONG_KIND, held[1] } end
local owner, ends, epoch = held[2] or "", tonumber(held[3] or 0), tonumber(held[4] or 0)
local consumer, now, session, take = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == "1"
local began, ended = tonumber(ARGV[6]), tonumber(ARGV[7])

local function after_outage(at)
  if began and at > began then return math.max(at, ended + session) end
  return at
end

ends = after_outage(ends)
local row, gone = {}, {}
if held[1] == "failover" then
  local me, first, alive = nil, nil, 0
  for _, member in ipairs(consumers.all(KEYS[2])) do
    member.ends = after_outage(member.ends)
    if member.name == consumer then
      me = member
    elseif member.ends > now then
      alive = alive + 1
      if member.ends - session / 2 > now then first = first or member end
    elseif member.unacked == 0 then
      gone[#gone + 1] = "@" .. member.name
    end
  end
  if not me or me.ends <= now then
    if not take then return { OK, -1, owner, math.max(ends - now, 0) } end
    if alive >= consumers.MOST then return { TOO_MANY } end
    me = me or consumers.parse(consumer, "")
    me.since = now
  end
  me.ends = now + session
  if owner ~= consumer and ends <= now then
    if not first or me.since < first.since or (me.since == first.since and me.name < first.name) then first = me end
    owner, ends, epoch = first.name, first.ends, epoch + 1
  end
  row[1], row[2] = "@" .. consumer, consumers.text(me)
elseif owner ~= consumer then
  if ends > now or not take then return { CONSUMER_BUSY, owner, math.max(ends - now, 0) } end
  owner, epoch = consumer, epoch + 1
end
if owner == consumer then ends = math.max(ends, now + session) end
redis.call("HSET", KEYS[2], "owner", owner, "owner_until", string.format("%d", ends), "owner_epoch", epoch, unpack(row))
if gone[1] then redis.call("HDEL", KEYS[2], unpack(gone)) end
if owner ~= consumer then return { OK, -1, owner, ends - now } end
return { OK, epoch }
