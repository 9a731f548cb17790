#!lua flags=allow-oom
--[[ cursor/receive_key_shared: lease records to a consumer of a key_shared subscription, those of one key in order.

Redis has no keys of records.  The caller sends a hash of each key for a window of new offsets.

    log      k1  k2  k1  k3  k2  k1        c1 has the slots of k1 and k3, c2 that of k2
    c1 gets  0       2   3       5         1 and 4 wait for c2
             leased to c1                  until they are acknowledged, only c1 gets k1

A record is leased if its slot is the consumer's (include/key_slots), and all earlier unacknowledged records of its key are
leased to the consumer.  Else it waits, as a lease without a consumer.  Leases whose time is over wait again, and those
behind them of the same key.

KEYS        1 state  2 log  3 aborted  4 cursor  5 acks  6 leases  7 spans  8 due  9 pending
ARGV        1 topic_id  2 consumer  3 now_ms  4 max_records  5 max_bytes (the record that exceeds it is the last)
            6 ack_timeout_ms, or with a back-off: include/backoff  7 session_ms
            8 request  name.attempt, or "": include/lost_response; it begins with "~" if the leases are reserved
            9 again    1: a response to this request was lost; all its leases are delivered again with the same count, and
            become leases of this attempt
            10 consumer_max  11 subscription_max   unacknowledged offsets that they may have; 0: any number
            12 waiting_max   offsets that may wait  13 from  the first offset of the window  14 four bytes for each offset
RETURNS     {OK, mark, read, stable, more, next_due, deliveries...} as cursor/receive, and none if a later attempt of the
            request has called; more 1: another call returns more now, 2, 3 or 4: the limit of the consumer, of the subscription, or of waiting offsets allows no more, 5: the
            window does not reach as far as new records; a delivery is 10 values: the places of its records in the batch,
            four bytes each, count, and eight as in cursor/receive
            | {TOO_MANY} consumers | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {WRONG_KIND, kind}
COMPLEXITY  O(d + w + e) for d due leases, w offsets in the queues of the consumer's slots that wait or are others'
            (at most 20 000), and e new offsets (at most 1000 of 400 log entries)
WRITES      the consumer's session, and leases
SOURCE      Pulsar's Key_Shared subscriptions (PIP-34, PIP-379); docs/decisions/0046
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/cursor"
--- @include "include/backoff"
--- @include "include/lost_response"
--- @include "include/deliverable"
--- @include "include/aborted_checkpoints"
--- @include "include/key_slots"
local DUE_MAX, LOOK_MAX, WAITING_LOOK_MAX, NEW_MAX, CALL_MAX, CONSUMERS_MAX = 2000, 400, 10000, 1000, 1500, 240
local state = redis.call("HMGET", KEYS[1], "topic_id", "start", "stable", "aborts")
if state[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check("The state of the partition", { state[2], state[3] })
local c, refused = cursors.open(KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], ARGV[2])
if not c then return refused end
if not cursors.has_keys(c.kind) then return { WRONG_KIND, c.kind } end
local log, aborted, stable = KEYS[2], KEYS[3], tonumber(state[3])
local consumer, now, left, room = ARGV[2], tonumber(ARGV[3]), math.min(tonumber(ARGV[4]), CALL_MAX), tonumber(ARGV[5])
local wait, session, request = wait_of(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local waiting_max, from, hashes = tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14]
if is_superseded(c, request) then return { OK, c.mark, c.read, stable, 0, -1 } end
local clear_to, walk = checkpoints.read(state[4])
if walk then
  checkpoints.step(KEYS[1], aborted, walk)
  return { OK, c.mark, c.read, stable, 1, -1 }
end
local own, membership = slots.of(c.cursor, consumer, now, session)
if not own then return { TOO_MANY } end
cursors.trim(c, tonumber(state[2]))

local reply, more = { OK, 0, 0, 0, 0, 0 }, 0
local delivered_before, redelivered_before = c.delivered, c.redelivered

-- Limits: those of the consumer and of the subscription, as in cursor/receive.
local of = cursors.permits(c, tonumber(ARGV[10]), tonumber(ARGV[11]))
local permits, which = math.min(of[1], of[2]), of[2] < of[1] and 3 or 2

-- Returns whether there is room for one more; if not, `more` says why.
local function has_room()
  if left <= 0 or room <= 0 then more = 1 elseif permits <= 0 then more = which else return true end
  return false
end

local places, base, bytes = {}, 0, 0 -- of the last delivery of the reply; bytes: of one record

local function finish_delivery()
  if places[1] then reply[#reply - 9] = queues.packed("I4", places, 1, #places) end
end

local function deliver(offset, count, fields)
  local n = #reply
  if n == 6 or reply[n - 8] ~= count or reply[n - 6] ~= fields[4] or reply[n - 7] ~= fields[2] then
    finish_delivery()
    places = {}
    reply[n + 1], reply[n + 2] = "", count
    for i = 1, 5 do reply[n + 2 + i] = fields[2 * i] end
    reply[n + 8], reply[n + 9], reply[n + 10] = fields[12], fields[18], fields[20]
    base, bytes = tonumber(fields[6]), math.ceil(tonumber(fields[10]) / tonumber(fields[8]))
  end
  places[#places + 1] = offset - base
  left, room = left - 1, room - bytes
  c.delivered = c.delivered + 1
  if count > 0 then c.redelivered = c.redelivered + 1 end
end

local page = { base = 0, last = -1 } -- the log entry that was read last

-- Returns the fields of the log entry with an offset that was deliverable once; nil if it was trimmed.
local function entry_of(offset)
  if offset < page.base or offset > page.last then
    local item = redis.call("XRANGE", log, cursors.whole(offset), "+", "COUNT", 1)[1]
    if not item then return nil end
    page = { base = tonumber(item[2][6]), last = tonumber(string.match(item[1], "^(%d+)")), fields = item[2] }
  end
  return offset >= page.base and page.fields or nil
end

local function own_grant(q, count)
  local own = q.own and q.own[count]
  if own then return own end
  local lease_ms = wait_ms(wait, count)
  own = queues.grant(q, consumer, count, now + lease_ms, request, math.max(math.floor(lease_ms / queues.STEPS), 1))
  q.own = q.own or {}
  q.own[count] = own
  return own
end

-- 1. Leases whose time is over wait from now on, and those behind them of their keys.
local is_again = ARGV[9] == "1"
local is_unseen = is_again and of_request(consumer, request, now, wait) or nil
local overdue = 0
for _, slot in ipairs(redis.call("ZRANGEBYSCORE", c.due, "0", ARGV[3])) do
  if overdue < DUE_MAX then overdue = overdue + cursors.return_overdue(c, tonumber(slot), now, is_unseen) else more = 1 end
end
cursors.apply_followers(c, is_unseen)

-- 2. Other leases of this request, whose response was lost.
if is_again and more == 0 then
  local found = leases_of_request(c, consumer, request, now, wait)
  table.sort(found, function(a, b) return a.first < b.first end)
  for _, lease in ipairs(found) do
    local fields = entry_of(lease.first)
    if fields then
      deliver(lease.first, lease.count, fields)
      queues.leave(c, lease.q, lease.at)
      queues.move(c, lease.q, lease.at, own_grant(lease.q, lease.count))
    end
  end
end

-- 3. Waiting records.  A key is blocked behind a record that another consumer or a transaction has, or that waits.
local looked, found = 0, {}

-- Finds the records of a queue that the consumer may get, and the keys that are blocked behind the others.
local function look(slot)
  local q = cursors.queue(c, slot)
  q.blocked = {}
  local has_others = string.find(q.states, string.char(HELD), 1, true)
  for _, grant in pairs(q.grants) do has_others = has_others or (grant.size > 0 and grant.consumer ~= consumer) end
  if not has_others then return end
  local own = queues.ids(q, function(grant) return grant.consumer == consumer end)
  queues.each(q, queues.pattern(own, true), 1, function(i, state)
    local grant, key = q.grants[state], queues.key_at(q, i)
    looked = looked + 1
    if grant and grant.consumer == consumer then return false end -- since this call began
    if grant and queues.waits(grant) and not q.blocked[key] and #found < left then
      found[#found + 1] = { queues.offset_at(q, i), q, i, grant }
    else
      q.blocked[key] = true
    end
    return looked >= WAITING_LOOK_MAX
  end)
  q.is_closed = looked >= WAITING_LOOK_MAX
end

if has_room() then
  cursors.load_queues(c, own)
  for n = 1, #own do -- in turn, so that none is always the last one
    look(own[(now + n) % #own + 1])
    if #found >= left then break end
  end
  table.sort(found, function(a, b) return a[1] < b[1] end)
  for _, each in ipairs(found) do
    local offset, q, i, grant = each[1], each[2], each[3], each[4]
    if not has_room() then break end
    local fields = entry_of(offset)
    if fields and q.size < CONSUMERS_MAX then
      local count = grant.consumer == cursors.UNSEEN and grant.count or grant.count + 1
      deliver(offset, count, fields)
      local leased = own_grant(q, count)
      queues.leave(c, q, i)
      queues.move(c, q, i, leased)
      permits = permits - 1
    else
      q.blocked[queues.key_at(q, i)] = true
    end
  end
  if looked >= WAITING_LOOK_MAX and more == 0 and left > 0 then more = 4 end
end

-- 4. New records.
local passed, seen, limit = {}, 0, nil

-- Reads the queues of the slots of some offsets of the window.
local function load_slots(first, last)
  local slots, known = {}, {}
  for offset = first, last do
    local slot = string.byte(hashes, (offset - from) * 4 + 4)
    if not known[slot] then slots[#slots + 1], known[slot] = slot, true end
  end
  cursors.load_queues(c, slots)
end

-- Takes offsets of a log entry; returns the first that was not taken, if any.
local function take_some(first, last, fields)
  load_slots(first, last)
  for offset = first, last do
    local at = (offset - from) * 4
    local slot, key = string.byte(hashes, at + 4), string.sub(hashes, at + 1, at + 3)
    local q = c.queues[slot]
    local is_free = q.blocked and not q.is_closed and not q.blocked[key] and q.size < CONSUMERS_MAX
    if is_free and not has_room() then return offset end
    if is_free then
      deliver(offset, 0, fields)
      queues.add(c, q, offset, key, own_grant(q, 0))
      permits = permits - 1
    else
      if c.returned >= waiting_max then
        limit = 4
        return offset
      end
      if q.blocked then q.blocked[key] = true end
      queues.add(c, q, offset, key)
    end
  end
end

local function take(first, last, fields)
  if not fields then
    passed[#passed + 1], passed[#passed + 2] = first, last
    return nil
  end
  local upto = math.min(last, first + NEW_MAX - seen - 1)
  local stop = take_some(first, upto, fields)
  local taken = (stop or upto + 1) - first
  local slots_of_them = string.gsub(string.sub(hashes, (first - from) * 4 + 1, (first - from + taken) * 4), "...(.)", "%1")
  cursors.place(c, first, slots_of_them)
  seen = seen + taken
  if not stop and upto < last then more, stop = 1, upto + 1 end
  return stop
end

cursors.skip(c, stable)
-- If the consumer got some, and there is enough for others: not yet, so that calls which read new records read many.
local is_enough = c.delivered > delivered_before and 2 * c.returned > waiting_max and more == 0
if not is_enough and c.read < stable and more ~= 2 and more ~= 3 and left > 0 and room > 0 then
  local upto = math.min(stable, from + #hashes / 4)
  if c.read < from or c.read >= upto then
    more = 5
  else
    local visit = cursors.by_parts(c, take)
    local reached, _, is_unclear = each_stretch(log, aborted, c.read, upto, LOOK_MAX, visit, clear_to)
    if is_unclear then checkpoints.begin(KEYS[1], reached, stable) end
    c.read = reached
    if limit then
      more = limit
    elseif reached < stable and more == 0 then
      more = reached == upto and 5 or 1
    end
  end
elseif not is_enough and c.read < stable and more == 0 then
  more = 1
end
finish_delivery()
for i = 1, #passed, 2 do cursors.delete(c, passed[i], passed[i + 1]) end
c.receiver = {
  name = consumer, now = now, ends = now + session, delivered = c.delivered - delivered_before,
  redelivered = c.redelivered - redelivered_before, request = ARGV[9] == "1" and request or nil,
}
cursors.save(c)
if membership[1] then redis.call("HSET", c.cursor, unpack(membership)) end

local next_due = redis.call("ZRANGEBYSCORE", c.due, "0", "+inf", "WITHSCORES", "LIMIT", "0", "1")[2]
reply[2], reply[3], reply[4], reply[5], reply[6] = c.mark, c.read, stable, more, tonumber(next_due or -1)
return reply
