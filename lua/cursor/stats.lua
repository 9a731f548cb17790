#!lua flags=allow-oom
--[[ cursor/stats: read the positions and the backlog of a subscription on one partition.

KEYS        1 state  2 log  3 aborted  4 cursor  5 acks  6 leases  7 spans  8 due  9 pending
ARGV        1 topic_id  2 most log entries to read for the backlog
RETURNS     {OK, kind, mark, read, stable, acked, leased, held, backlog, exact, delivered, redelivered, consumer,
            consumer_until, created, next_due} | {UNKNOWN_TOPIC} | {UNKNOWN_SUB}
            acked: acknowledged beyond the mark.  leased: to a consumer; offsets returned by a nack or an abort are only in
            the backlog.  backlog: leased, held, and records still to be dispatched or redelivered; exact 0 if the log is
            longer than the entries read: the rest is then counted by offsets, including markers and aborted records
            For a Kafka group: mark and read are its offset (-1: none), stable is the log end, held the pending commits,
            backlog the offsets from there to the end; the whole log if it has no offset
COMPLEXITY  O(log entries read)
WRITES      only to move past records that retention has removed
SOURCE      requirements TB-30; docs/decisions/0004
]]
--- @include "include/status"
--- @include "include/cursor"
--- @include "include/deliverable"
--- @include "include/aborted_checkpoints"
local state = redis.call("HMGET", KEYS[1], "topic_id", "start", "stable", "next", "aborts")
if state[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c = cursors.read(KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9])
if not c then return { UNKNOWN_SUB } end
if c.kind == "kafka" then
  local held = redis.call("HMGET", c.cursor, "offset", "created")
  local from, last = math.max(tonumber(held[1]), tonumber(state[2])), tonumber(state[4])
  return {
    OK, c.kind, held[1], held[1], last, 0, 0, redis.call("HLEN", c.pending) - 1, math.max(last - from, 0), 0, 0, 0, "", 0,
    held[2], -1,
  }
end
cursors.trim(c, tonumber(state[2]))

local stable, unread = tonumber(state[3]), 0
local reached = each_stretch(KEYS[2], KEYS[3], c.read, stable, tonumber(ARGV[2]), function(first, last, fields)
  if fields then unread = unread + last - first + 1 end
end, checkpoints.read(state[5]))
local beyond = math.max(stable - reached, 0)
local following = redis.call("ZRANGEBYSCORE", c.due, 0, "+inf", "WITHSCORES", "LIMIT", 0, 1)[2]
return {
  OK, c.kind, c.mark, c.read, stable, c.read - c.mark - c.leased - c.held, c.leased - c.returned, c.held,
  c.leased + c.held + unread + beyond, beyond == 0 and 1 or 0, c.delivered, c.redelivered, c.consumer, c.consumer_until,
  redis.call("HGET", c.cursor, "created"), tonumber(following or -1),
}
