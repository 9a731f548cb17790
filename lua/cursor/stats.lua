#!lua flags=allow-oom
--[[ cursor/stats: read the positions and the backlog of a subscription on one partition.

KEYS        1 state  2 log  3 aborted  4 cursor  5 acks  6 leases  7 spans  8 due  9 pending
ARGV        1 topic_id  2 most log entries to read for the backlog
RETURNS     {OK, kind, mark, read, stable, acked, leased, held, backlog, exact, delivered, redelivered, consumer,
            consumer_until, created, next_due, waiting} | {UNKNOWN_TOPIC} | {UNKNOWN_SUB}
            acked: acknowledged beyond the mark.  leased: to a consumer.  waiting: read, and no consumer has them:
            returned by a nack or an abort, or (key_shared) for the consumer of their key.  backlog: leased, waiting, held,
            and records still to be dispatched; exact 0 if the log is longer than the entries read: the rest is then
            counted by offsets, including markers and aborted records
            For a Kafka group: mark and read are its offset (-1: none), held the number of pending commits, backlog the
            records from the offset on; 0 without an offset, since the group's clients choose where they start
COMPLEXITY  O(log entries read)
WRITES      only to move past records that retention has removed
SOURCE      requirements TB-30; docs/decisions/0004
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/cursor"
--- @include "include/deliverable"
--- @include "include/aborted_checkpoints"
local AHEAD_MAX = 262144 -- offsets of which acknowledgements are counted
local state = redis.call("HMGET", KEYS[1], "topic_id", "start", "stable", "next", "aborts")
if state[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check("The state of the partition", { state[2], state[3] })
local c = cursors.read(KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9])
if not c then return { UNKNOWN_SUB } end
local stable, unread, from, offset = tonumber(state[3]), 0, c.read, nil
if c.kind == "kafka" then
  offset = redis.call("HGET", c.cursor, "offset")
  from = tonumber(offset) < 0 and stable or math.min(math.max(tonumber(offset), tonumber(state[2])), stable)
else
  cursors.trim(c, tonumber(state[2]))
  from = c.read
end

local to, ahead = stable, 0 -- ahead: acknowledged and not dispatched yet
if c.ahead > from then to = math.min(stable, from + AHEAD_MAX) end
local reached = each_stretch(KEYS[2], KEYS[3], from, to, tonumber(ARGV[2]), function(first, last, fields)
  local size = last - first + 1
  local acked = first < c.ahead and cursors.acked(c, first, last) or 0
  ahead = ahead + acked
  if fields then unread = unread + size - acked end
end, checkpoints.read(state[5]))
local beyond = math.max(stable - reached, 0)
local is_exact, created = beyond == 0 and 1 or 0, redis.call("HGET", c.cursor, "created")
if offset then
  local held = redis.call("HLEN", c.pending) - 1
  return { OK, c.kind, offset, offset, stable, 0, 0, held, unread + beyond, is_exact, 0, 0, "", 0, created, -1, 0 }
end
local following = redis.call("ZRANGEBYSCORE", c.due, "0", "+inf", "WITHSCORES", "LIMIT", "0", "1")[2]
return {
  OK, c.kind, c.mark, c.read, stable, c.read - c.mark - c.leased - c.held + ahead, c.leased - c.returned, c.held,
  c.leased + c.held + unread + beyond, is_exact, c.delivered, c.redelivered, c.consumer, c.consumer_until,
  created, tonumber(following or -1), c.returned,
}
