#!lua flags=allow-oom
--[[ cursor/receive: lease records to a consumer: first what is due again, by offset, then new ones up to the stable offset.

New offsets that nobody can get (markers, aborted batches, gaps, what retention took) are passed over and count as
acknowledged in the same step, also behind the last record delivered, so they never hold the mark back.

    log      a   b·t1  ✓t1   c·t2  ✗t2  d          leases of this call    a b  and, since 2 is passed,  d
    offset   0   1     2     3     4    5          bits set               2 3 4

KEYS        1 state  2 log  3 aborted  4 cursor  5 acks  6 leases  7 spans  8 due  9 pending
ARGV        1 topic_id  2 consumer  3 now_ms  4 max_records  5 max_bytes (the record that passes it is the last)
            6 ack_timeout_ms  7 session_ms (exclusive)
            8 again    1: the reply of this very call was lost; what it leased is leased again
RETURNS     {OK, mark, read, stable, more, next_due, deliveries...} more 1: there is more right now; next_due: when the next
            lease runs out, in ms, or -1; a delivery is 11 values: first, last, count (0: the first time), ledger, entry, base,
            records, bytes, producer, flags, append time, the last eight those of the log entry
            | {CONSUMER_BUSY, consumer, ms it has left} | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {WRONG_KIND, kafka}
COMPLEXITY  O(d log l + e) for d due leases (at most 512) of l, and e log entries passed (at most 1000 beyond those delivered)
WRITES      nothing when there is nothing to deliver or to pass and no session to prolong
SOURCE      transaction buffer RFC "dispatch"; requirements TB-05, TB-06, TB-28, TB-30; docs/decisions/0004
]]
--- @include "include/status"
--- @include "include/cursor"
--- @include "include/deliverable"
local DUE_MAX, PASS_MAX = 512, 1000
local state = redis.call("HMGET", KEYS[1], "topic_id", "start", "stable")
if state[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c, refused = cursors.open(KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9])
if not c then return refused end
local log, aborted, stable = KEYS[2], KEYS[3], tonumber(state[3])
local consumer, now, left, room = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local deadline, exclusive = now + tonumber(ARGV[6]), c.kind == "exclusive"
if exclusive and c.consumer ~= consumer and c.consumer_until > now then
  return { CONSUMER_BUSY, c.consumer, c.consumer_until - now }
end
cursors.trim(c, tonumber(state[2]))

-- Leases that are due before their time: those of the consumer whose place this one takes, and those of the lost reply.
local early = {}
if exclusive and c.consumer ~= consumer and c.consumer ~= "" then
  for _, lease in ipairs(cursors.leases_at(c, redis.call("ZRANGEBYSCORE", c.spans, 0, "+inf"))) do
    if cursors.is_others(lease, consumer) then early[#early + 1] = lease end
  end
elseif ARGV[8] == "1" then
  for _, lease in ipairs(cursors.leases_at(c, redis.call("ZRANGEBYSCORE", c.due, deadline, deadline))) do
    if lease.consumer == consumer then early[#early + 1] = lease end
  end
end
for _, lease in ipairs(early) do
  cursors.drop(c, lease)
  cursors.put(c, lease.first, lease.last, lease.consumer, lease.count, math.min(lease.deadline, now))
end
if exclusive then
  c.consumer, c.session, c.consumer_until = consumer, tonumber(ARGV[7]), now + tonumber(ARGV[7])
end
if #early > 0 then cursors.save(c) end

local reply, more, changed = { OK, 0, 0, 0, 0, 0 }, 0, exclusive
local grants, passed = {}, {}

local function deliver(fields, first, last, count)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = first, last, count
  for i = 1, 5 do reply[n + 3 + i] = fields[2 * i] end
  reply[n + 9], reply[n + 10], reply[n + 11] = fields[12], fields[18], fields[20]
  local size = last - first + 1
  left, room = left - size, room - math.ceil(tonumber(fields[10]) * size / tonumber(fields[8]))
  c.delivered = c.delivered + size
  local grant = grants[#grants]
  if grant and grant[2] + 1 == first and grant[3] == count then
    grant[2] = last
  else
    grants[#grants + 1] = { first, last, count }
  end
end

-- A visit for each_stretch that delivers as much as fits.
local function take(count)
  return function(first, last, fields)
    if not fields then
      passed[#passed + 1], passed[#passed + 2] = first, last
      return nil
    end
    if left <= 0 or room <= 0 then
      more = 1
      return first
    end
    local upto = math.min(last, first + left - 1)
    deliver(fields, first, upto, count)
    if upto < last then
      more = 1
      return upto + 1
    end
  end
end

-- By offset.  With more due leases than one call looks at, those are taken that are first in the log, so that a consumer
-- that takes over finds everything in order.
local names = redis.call("ZRANGEBYSCORE", c.due, 0, now, "LIMIT", 0, DUE_MAX)
local due = {}
if #names == DUE_MAX then
  more = 1
  for _, lease in ipairs(cursors.leases_at(c, redis.call("ZRANGEBYSCORE", c.spans, 0, "+inf", "LIMIT", 0, DUE_MAX))) do
    if lease.deadline <= now then due[#due + 1] = lease end
  end
end
if #due == 0 then
  due = cursors.leases_at(c, names)
  table.sort(due, function(a, b) return a.first < b.first end)
end
for _, lease in ipairs(due) do
  if left <= 0 or room <= 0 then
    more = 1
    break
  end
  local count = lease.consumer == cursors.UNSEEN and lease.count or lease.count + 1
  local reached = each_stretch(log, aborted, lease.first, lease.last + 1, lease.last - lease.first + 1, take(count))
  cursors.drop(c, lease)
  if reached <= lease.last then cursors.put(c, reached, lease.last, lease.consumer, lease.count, lease.deadline) end
end
for _, grant in ipairs(grants) do
  if grant[3] > 0 then c.redelivered = c.redelivered + grant[2] - grant[1] + 1 end
end

if c.read < stable then
  local reached = each_stretch(log, aborted, c.read, stable, math.max(left, 0) + PASS_MAX, take(0))
  if reached < stable then more = 1 end
  c.read = reached
end
changed = changed or #grants > 0 or #passed > 0

for i = 1, #passed, 2 do cursors.delete(c, passed[i], passed[i + 1]) end
for _, grant in ipairs(grants) do cursors.put(c, grant[1], grant[2], consumer, grant[3], deadline) end
if changed then cursors.save(c) end
local following = redis.call("ZRANGEBYSCORE", c.due, 0, "+inf", "WITHSCORES", "LIMIT", 0, 1)[2]
reply[2], reply[3], reply[4], reply[5], reply[6] = c.mark, c.read, stable, more, tonumber(following or -1)
return reply
