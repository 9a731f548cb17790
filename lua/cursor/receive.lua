#!lua flags=allow-oom
--[[ cursor/receive: lease records to a consumer: first redeliveries, by offset, then new records up to the stable offset.

New offsets without deliverable records (markers, aborted batches, gaps, trimmed records) are skipped and count as
acknowledged in the same step, also after the last delivered record, so they never hold the mark back.

    log      a   b·t1  ✓t1   c·t2  ✗t2  d          leases of this call    a b  and, since 2 is skipped,  d
    offset   0   1     2     3     4    5          bits set               2 3 4

A shared subscription redelivers leases of any consumer that are due.  An exclusive or failover one is ordered: first
every lease that its owner has not received or not acknowledged, then new records.

    after 3     0  1  2  3 | 4  5 | 6  7       4 and 5 are leased to the owner, but the response with them was lost:
                received               new      they are delivered again with the same count, and then 6 and 7

KEYS        1 state  2 log  3 aborted  4 cursor  5 acks  6 leases  7 spans  8 due  9 pending
ARGV        1 topic_id  2 consumer  3 now_ms  4 max_records  5 max_bytes (the record that exceeds it is the last)
            6 ack_timeout_ms, or with a back-off: include/backoff  7 session_ms
            8 epoch (ordered): of this consumer's ownership, from cursor/claim; "" without one
            9 after    the consumer has received up to this offset; "": redeliver everything that is leased (ordered)
            10 unseen   1: leases beyond `after` never reached the consumer, so they keep their count
            11 request  name.attempt, or "": include/lost_response; it begins with "~" if the leases are reserved
            12 again    1: a response to this request was lost; its leases are delivered again with the same count, all of
            them if the subscription is shared, and become leases of this attempt
            13 consumer_max  14 subscription_max   unacknowledged offsets that they may have; 0: any number
RETURNS     {OK, mark, read, stable, more, next_due, deliveries...} none if a later attempt of the request has called; more
            1: another call returns more now, 2 or 3: the
            limit of the consumer or the subscription allows no more; next_due: when the next lease expires, in ms, or
            -1; a delivery is 11 values: first, last, count (0: the first time), ledger, entry, base, records, bytes,
            producer, flags, append time, the last eight from the log entry
            | {NOT_OWNER} an ordered subscription, and the epoch is missing or of an earlier owner: call cursor/claim
            | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {WRONG_KIND, kafka or key_shared}
COMPLEXITY  O(d log l + e) for d due leases (at most 192, and 600 are read for a repeated request) of l, and e log
            entries, at most 400: with too few records and more 1, the caller sends another call.
            Where very many aborts lie close together, calls in between walk over them: include/aborted_checkpoints
WRITES      nothing if there is nothing to deliver or to skip and the subscription is shared
SOURCE      transaction buffer RFC "dispatch"; requirements TB-05, TB-06, TB-28, TB-30; docs/decisions/0004, 0019
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/cursor"
--- @include "include/backoff"
--- @include "include/lost_response"
--- @include "include/deliverable"
--- @include "include/aborted_checkpoints"
local DUE_MAX, LOOK_MAX = 192, 400
local state = redis.call("HMGET", KEYS[1], "topic_id", "start", "stable", "aborts")
if state[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check("The state of the partition", { state[2], state[3] })
local c, refused = cursors.open(KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], ARGV[2])
if not c then return refused end
if cursors.has_keys(c.kind) then return { WRONG_KIND, c.kind } end
local log, aborted, stable = KEYS[2], KEYS[3], tonumber(state[3])
local consumer, now, left, room = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local wait, ordered, epoch = wait_of(ARGV[6]), cursors.is_ordered(c.kind), tonumber(ARGV[8])
local after, is_unseen, request = tonumber(ARGV[9]) or -1, ARGV[10] == "1", ARGV[11]
if ordered and (not epoch or epoch < c.epoch) then return { NOT_OWNER } end
if is_superseded(c, request) then return { OK, c.mark, c.read, stable, 0, -1 } end
local clear_to, walk = checkpoints.read(state[4])
if walk then
  checkpoints.step(KEYS[1], aborted, walk)
  return { OK, c.mark, c.read, stable, 1, -1 }
end
cursors.trim(c, tonumber(state[2]))
if ordered then
  if c.consumer ~= consumer then -- a new owner: leases of its earlier ownership may belong to another consumer now
    after, is_unseen, c.taken = -1, false, c.read
  end
  c.consumer, c.epoch, c.consumer_until = consumer, epoch, now + tonumber(ARGV[7])
end

-- Leases to deliver again ---------------------------------------------------------------------------------------------
-- First offset → { lease, its first offset to deliver, the first one that keeps its count (nil: each counts one more) }.

local again, truncated = {}, false

local function add(lease, from, keeps_from)
  local known = again[lease.first]
  if known then
    known[2], known[3] = math.min(known[2], from), known[3] or keeps_from
  else
    local is_uncounted = lease.consumer == cursors.UNSEEN or cursors.is_reserved(lease)
    again[lease.first] = { lease, from, is_uncounted and from or keeps_from }
  end
end

local own = ARGV[12] == "1" and leases_of_request(c, consumer, request, now, wait) or {} -- of lost responses
if ordered then
  for _, lease in ipairs(own) do
    local from = math.max(lease.first, after + 1)
    if lease.last >= from then add(lease, from, from) end
  end
  own = {}
  local names = redis.call("ZRANGEBYSCORE", c.spans, math.max(after, 0), "+inf", "LIMIT", "0", DUE_MAX)
  truncated = #names == DUE_MAX
  local before = after >= 0 and redis.call("ZREVRANGEBYSCORE", c.spans, "(" .. cursors.whole(after), 0, "LIMIT", "0", "1")[1]
  names[#names + 1] = before or nil -- it may begin before `after` and end after it
  for _, lease in ipairs(cursors.leases_at(c, names)) do
    local is_own = lease.consumer == consumer
    local from = math.max(lease.first, after + 1)
    if lease.last >= from and (is_own or cursors.is_others(lease, consumer)) then
      add(lease, from, is_own and is_unseen and from or nil)
    end
  end
end

-- By offset.  If more leases are due than one call reads, the first in the log are taken, so that a consumer that takes
-- over receives in order.
local function first_deadline()
  return tonumber(redis.call("ZRANGEBYSCORE", c.due, "0", "+inf", "WITHSCORES", "LIMIT", "0", "1")[2] or math.huge)
end
local next_due = first_deadline()
local names = next_due <= now and redis.call("ZRANGEBYSCORE", c.due, "0", ARGV[3], "LIMIT", "0", DUE_MAX) or {}
local found = {}
if #names == DUE_MAX then
  truncated = true
  for _, lease in ipairs(cursors.leases_at(c, redis.call("ZRANGEBYSCORE", c.spans, "0", "+inf", "LIMIT", "0", DUE_MAX))) do
    if lease.deadline <= now then found[#found + 1] = lease end
  end
end
if #found == 0 then found = cursors.leases_at(c, names) end
local is_own = {}
for _, lease in ipairs(own) do is_own[lease.first] = true end
for _, lease in ipairs(found) do
  if not is_own[lease.first] then add(lease, lease.first) end
end

local function by_offset(a, b) return a[1].first < b[1].first end
local due = {}
for _, each in pairs(again) do due[#due + 1] = each end
table.sort(due, by_offset)
for i, lease in ipairs(own) do own[i] = { lease, lease.first, lease.first } end
table.sort(own, by_offset)

-- Limits of unacknowledged offsets.  A redelivery to the consumer that has the lease needs none, one from another consumer
-- does not change the number of the subscription.
local limit, permits = nil, cursors.permits(c, tonumber(ARGV[13]) or 0, tonumber(ARGV[14]) or 0)

-- Returns how many offsets may be delivered of a lease (nil: new ones), and which limit that is.
local function allowed(lease)
  if lease and lease.consumer == consumer then return math.huge, nil end
  if lease and not cursors.is_unassigned(lease.consumer) then return permits[1], 2 end
  if permits[2] < permits[1] then return permits[2], 3 end
  return permits[1], 2
end

local function use(lease, size)
  if lease and lease.consumer == consumer then return end
  permits[1] = permits[1] - size
  if not lease or cursors.is_unassigned(lease.consumer) then permits[2] = permits[2] - size end
end

local delivered_before = c.delivered
local reply, more, changed = { OK, 0, 0, 0, 0, 0 }, 0, ordered
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

-- Returns a visitor for each_stretch that delivers as much as fits.
local function take(count, lease)
  return function(first, last, fields)
    if not fields then
      passed[#passed + 1], passed[#passed + 2] = first, last
      return nil
    end
    if left <= 0 or room <= 0 then
      more = 1
      return first
    end
    local most, which = allowed(lease)
    if most <= 0 then
      limit = which
      return first
    end
    local upto = math.min(last, first + math.min(left, most) - 1)
    deliver(fields, first, upto, count)
    use(lease, upto - first + 1)
    if upto < last then
      if most < left + upto - first + 1 then limit = which else more = 1 end
      return upto + 1
    end
  end
end

local look -- entries that this call may still read

local function redeliver(list)
  for _, each in ipairs(list) do
    if left <= 0 or room <= 0 or look <= 0 then
      more, left = 1, 0 -- in order: no new records before all of those
      break
    end
    local lease, from, keeps_from = each[1], each[2], each[3] or math.huge
    local most, which = allowed(lease)
    if most <= 0 then
      limit = which
      if ordered then break end -- otherwise, others may be this consumer's own
    else
      local at, stop = from, nil
      repeat
        local count = at < keeps_from and lease.count + 1 or lease.count
        stop = at < keeps_from and math.min(keeps_from, lease.last + 1) or lease.last + 1
        local reached, seen, is_unclear = each_stretch(log, aborted, at, stop, look, take(count, lease), clear_to)
        if is_unclear then checkpoints.begin(KEYS[1], reached, stable) end
        at, look = reached, look - math.max(seen, 1)
      until at < stop or at > lease.last
      if at <= lease.last and not limit then more, left = 1, 0 end
      cursors.drop(c, lease)
      cursors.keep(c, lease, lease.first, from - 1)
      cursors.keep(c, lease, at, lease.last)
    end
  end
end

if own[1] then -- at most what the earlier attempts could lease, so without a limit
  local most, most_bytes = left, room
  left, room, look = math.huge, math.huge, math.huge
  redeliver(own)
  for _, grant in ipairs(grants) do most = most - (grant[2] - grant[1] + 1) end
  left, room = most, most_bytes
end
look = LOOK_MAX
if truncated then more = 1 end
redeliver(due)
if limit and ordered then left = 0 end
if ordered and truncated then left = 0 end -- in order: no new records before all of those
local redelivered = c.redelivered
for _, grant in ipairs(grants) do
  if grant[3] > 0 then c.redelivered = c.redelivered + grant[2] - grant[1] + 1 end
end

if cursors.skip(c, stable) then changed = true end
if c.read < stable then
  local visit = cursors.by_parts(c, take(0))
  local reached, _, is_unclear = each_stretch(log, aborted, c.read, stable, math.max(look, 1), visit, clear_to)
  if is_unclear then checkpoints.begin(KEYS[1], reached, stable) end
  if reached < stable then more = 1 end
  c.read = reached
end
changed = changed or #grants > 0 or #passed > 0 or ARGV[12] == "1"
if limit then more = limit end
if ordered or #grants > 0 or ARGV[12] == "1" then
  c.receiver = {
    name = consumer, now = now, ends = now + tonumber(ARGV[7]), delivered = c.delivered - delivered_before,
    redelivered = c.redelivered - redelivered, request = ARGV[12] == "1" and request or nil,
  }
end

for i = 1, #passed, 2 do cursors.delete(c, passed[i], passed[i + 1]) end
for _, grant in ipairs(grants) do cursors.put(c, grant[1], grant[2], consumer, grant[3], now + wait_ms(wait, grant[3]), request) end
if changed then cursors.save(c) end
if #due > 0 or #own > 0 then
  next_due = first_deadline() -- some of the earlier leases are gone
elseif #grants > 0 then
  next_due = math.min(next_due, now + wait_ms(wait, 0)) -- new records only
end
reply[2], reply[3], reply[4], reply[5], reply[6] = c.mark, c.read, stable, more, next_due < math.huge and next_due or -1
return reply
