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
            8 request  name of the request, no spaces, or ""
            9 again    1: the response to this request was lost; its leases are delivered again with the same count
            10 consumer_max  11 subscription_max   unacknowledged offsets that they may have; 0: any number
            12 waiting_max   offsets that may wait  13 from  the first offset of the window  14 four bytes for each offset
RETURNS     {OK, mark, read, stable, more, next_due, deliveries...} as cursor/receive; more 1: another call returns more
            now, 2, 3 or 4: the limit of the consumer, of the subscription, or of waiting offsets allows no more, 5: the
            window does not reach as far as new records; a delivery is 11 values, as in cursor/receive
            | {TOO_MANY} consumers | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {WRONG_KIND, kind}
COMPLEXITY  O(d log l + w + e) for d due leases (at most 192), w waiting offsets of the consumer's slots (at most 2000) and e new offsets
            (at most 1000 of 400 log entries)
WRITES      the consumer's session, and leases
SOURCE      Pulsar's Key_Shared subscriptions (PIP-34, PIP-379); docs/decisions/0046
]]
--- @include "include/status"
--- @include "include/cursor"
--- @include "include/backoff"
--- @include "include/lost_response"
--- @include "include/deliverable"
--- @include "include/aborted_checkpoints"
--- @include "include/key_slots"
local DUE_MAX, LOOK_MAX, WAITING_LOOK_MAX, NEW_MAX, PAGE = 192, 400, 2000, 1000, 200
local state = redis.call("HMGET", KEYS[1], "topic_id", "start", "stable", "aborts")
if state[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c, refused = cursors.open(KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9])
if not c then return refused end
if not cursors.has_keys(c.kind) then return { WRONG_KIND, c.kind } end
local log, aborted, stable = KEYS[2], KEYS[3], tonumber(state[3])
local consumer, now, left, room = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local wait, session, request = wait_of(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local waiting_max, from, hashes = tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14]
local clear_to, walk = checkpoints.read(state[4])
if walk then
  checkpoints.step(KEYS[1], aborted, walk)
  return { OK, c.mark, c.read, stable, 1, -1 }
end
local own, is_own, membership = slots.of(c.cursor, consumer, now, session)
if not own then return { TOO_MANY } end
cursors.trim(c, tonumber(state[2]))

local reply, more = { OK, 0, 0, 0, 0, 0 }, 0
local delivered_before, redelivered_before = c.delivered, c.redelivered

-- Limits: those of the consumer and of the subscription, as in cursor/receive.
local of = cursors.permits(c, consumer, tonumber(ARGV[10]), tonumber(ARGV[11]))
local permits, which = math.min(of[1], of[2]), of[2] < of[1] and 3 or 2

-- Returns whether there is room for one more; if not, `more` says why.
local function has_room()
  if left <= 0 or room <= 0 then more = 1 elseif permits <= 0 then more = which else return true end
  return false
end

local function deliver(offset, count, fields)
  local n = #reply
  local last = reply[n - 9]
  if n > 6 and last == offset - 1 and reply[n - 8] == count and reply[n - 6] == fields[4] and reply[n - 7] == fields[2] then
    reply[n - 9] = offset
  else
    reply[n + 1], reply[n + 2], reply[n + 3] = offset, offset, count
    for i = 1, 5 do reply[n + 3 + i] = fields[2 * i] end
    reply[n + 9], reply[n + 10], reply[n + 11] = fields[12], fields[18], fields[20]
  end
  left, room = left - 1, room - math.ceil(tonumber(fields[10]) / tonumber(fields[8]))
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

-- 1. Leases of this request, whose response was lost: the keys stay as they are.
if ARGV[9] == "1" then
  local found = leases_of_request(c, consumer, request, now, wait)
  table.sort(found, function(a, b) return a.first < b.first end)
  for _, lease in ipairs(found) do
    local fields = left > 0 and entry_of(lease.first)
    if fields then deliver(lease.first, lease.count, fields) end
  end
end

-- 2. Leases whose time is over wait from now on.
local names = redis.call("ZRANGEBYSCORE", c.due, "0", ARGV[3], "LIMIT", 0, DUE_MAX)
if #names == DUE_MAX then more = 1 end
local overdue, firsts = cursors.leases_at(c, names), {}
for i, lease in ipairs(overdue) do firsts[i] = lease.first end
local keys_due = cursors.keys_of(c, firsts)
for _, lease in ipairs(overdue) do
  local key = keys_due[lease.first]
  if key and c.writes[lease.first] == nil then
    cursors.drop(c, lease)
    if cursors.is_unassigned(lease.consumer) then
      cursors.put_waiting(c, lease.first, lease.consumer, lease.count, key)
    else
      cursors.put_waiting(c, lease.first, "", lease.count, key)
      cursors.return_followers(c, lease.first, key, 0)
    end
  end
end
if next(c.writes) then cursors.save(c) end

-- 3. Waiting records.
local taken = {} -- key → offsets of it that this call has leased, and whether the next may be

-- Whether all unacknowledged offsets of the key below `offset` are leased to the consumer.  Offsets come in order.
local function is_first(key, offset)
  local seen = taken[key]
  if not seen then
    seen = { next_of = string.gmatch(cursors.list(c, key).text, "%d+"), is_free = true }
    seen.at = tonumber(seen.next_of() or math.huge)
    taken[key] = seen
  end
  while seen.is_free and seen.at < offset do
    if seen.at >= c.mark then
      local lease = cursors.lease_of(c, seen.at)
      seen.is_free = lease ~= nil and lease.consumer == consumer
    end
    seen.at = tonumber(seen.next_of() or math.huge)
  end
  return seen.is_free
end

local function lease_to_consumer(offset, count)
  cursors.put(c, offset, offset, consumer, count, now + wait_ms(wait, count), request)
  permits = permits - 1
end

-- Slots in turn, so that none is always the last one.
local looked, begin = 0, #own > 0 and 2 * (now % (#own / 2)) or 0
for i = 1, #own, 2 do
  local at = (begin + i - 1) % #own + 1
  local lowest = cursors.whole(cursors.slot_score(own[at]))
  local upto = "(" .. cursors.whole(math.min(cursors.slot_score(own[at + 1] + 1), -1)) -- -1 is the sentinel
  while looked < WAITING_LOOK_MAX and has_room() do
    local some = redis.call("ZRANGEBYSCORE", c.due, lowest, upto, "WITHSCORES", "LIMIT", 0, PAGE)
    local offsets, rows = {}, {}
    for j = 1, #some, 2 do offsets[#offsets + 1], rows[#rows + 1] = tonumber(some[j]), some[j] end
    local keys = cursors.keys_of(c, offsets)
    cursors.load_lists(c, keys)
    cursors.load_leases(c, rows)
    for _, offset in ipairs(offsets) do
      local key = keys[offset]
      if key and is_first(key, offset) then
        if not has_room() then break end
        local lease, fields = cursors.lease_of(c, offset), entry_of(offset)
        if lease and fields then
          local count = lease.consumer == cursors.UNSEEN and lease.count or lease.count + 1
          cursors.drop(c, lease)
          deliver(offset, count, fields)
          lease_to_consumer(offset, count)
        end
      end
    end
    looked = looked + #offsets
    if #offsets < PAGE then break end
    lowest = "(" .. string.format("%.0f", tonumber(some[#some]))
  end
end
if looked >= WAITING_LOOK_MAX and more == 0 and left > 0 then more = 4 end

-- 4. New records.
local new_keys = {} -- by offset

-- Reads the keys of some offsets of the window.
local function load_keys(first, last)
  for offset = first, last do
    local at = (offset - from) * 4
    new_keys[offset] = string.format("%02x%02x%02x%02x", string.byte(hashes, at + 1, at + 4))
  end
  cursors.load_lists(c, new_keys)
end

local passed, seen, limit = {}, 0, nil
local function take(first, last, fields)
  if not fields then
    passed[#passed + 1], passed[#passed + 2] = first, last
    return nil
  end
  for offset = first, last do
    if seen >= NEW_MAX then
      more = 1
      return offset
    end
    if not new_keys[offset] then load_keys(offset, math.min(last, offset + NEW_MAX - seen - 1)) end
    local key = new_keys[offset]
    if is_own(key) and is_first(key, offset) then
      if not has_room() then return offset end
      cursors.add_key(c, offset, key)
      deliver(offset, 0, fields)
      lease_to_consumer(offset, 0)
    else
      if c.returned >= waiting_max then
        limit = 4
        return offset
      end
      cursors.add_key(c, offset, key)
      cursors.put_waiting(c, offset, cursors.UNSEEN, 0, key)
    end
    seen = seen + 1
  end
end

if c.read < stable and more ~= 2 and more ~= 3 and left > 0 and room > 0 then
  local upto = math.min(stable, from + #hashes / 4)
  if c.read < from or c.read >= upto then
    more = 5
  else
    local reached, _, is_unclear = each_stretch(log, aborted, c.read, upto, LOOK_MAX, take, clear_to)
    if is_unclear then checkpoints.begin(KEYS[1], reached, stable) end
    c.read = reached
    if limit then
      more = limit
    elseif reached < stable and more == 0 then
      more = reached == upto and 5 or 1
    end
  end
elseif c.read < stable and more == 0 then
  more = 1
end
for i = 1, #passed, 2 do cursors.delete(c, passed[i], passed[i + 1]) end
c.receiver = {
  name = consumer, now = now, ends = now + session, delivered = c.delivered - delivered_before,
  redelivered = c.redelivered - redelivered_before,
}
cursors.save(c)
if membership[1] then redis.call("HSET", c.cursor, unpack(membership)) end

local next_due = redis.call("ZRANGEBYSCORE", c.due, "0", "+inf", "WITHSCORES", "LIMIT", "0", "1")[2]
reply[2], reply[3], reply[4], reply[5], reply[6] = c.mark, c.read, stable, more, tonumber(next_due or -1)
return reply
