-- One subscription on one partition.  Every offset is in exactly one place:
--
--     0 ... deleted ... mark ........ deleted (in acks) | leased | held by a transaction ..... read ... new
--
-- so between mark and read the offsets without a lease and without a holder are the acknowledged ones, and no counter of
-- them is needed.  The mark itself is always leased, held, or equal to read.
--     leases   first → "last consumer count deadline", and the name of its request if the client gave one; spans and
--              due index them by offset and by deadline.  A reserved lease has a request that begins with "~"
--     leased, returned   number of leased offsets, and how many of these have no consumer: they were returned by a nack
--              or by an aborted transaction
--     acks     offsets acknowledged beyond the mark: include/acks
--     ahead    after cursor/restore: offsets from `read` up to it may be acknowledged as well
--     consumer, epoch, taken   of an exclusive or failover subscription: the last consumer that received here, the epoch
--              of its ownership (cursor/claim), and the value of `read` when it received for the first time
--     @<name>  a consumer, with the number of offsets that it has leased or acknowledged in an open transaction
--     tracked  leased - returned + 2 held when these numbers were written last: if they differ now, as after a reset or a
--              repair, cursors.recount counts the offsets of consumers anew
--     pending  offsets that transactions hold: include/pending_acks
-- Functions read Redis directly and write to fields of `c`; cursors.save writes all changes to Redis at the end.
--- @include "include/stored_values"
local TRIM_MAX, TRIM_SPAN = 300, 1048576 -- leases and offsets that one trim passes
local cursors = {}
local NUMBERS = {
  "mark", "read", "leased", "held", "delivered", "redelivered", "consumer_until", "epoch", "taken", "returned", "tracked",
}

-- Whether leases have keys, and are in queues: include/slot_queues.
function cursors.has_keys(kind) return kind == "key_shared" end

-- Whether one consumer is active at a time and receives in order.
function cursors.is_ordered(kind) return kind == "exclusive" or kind == "failover" end

function cursors.whole(n) return string.format("%d", n) end

-- Calls a variadic command with a list of any length; unpack takes fewer than 8000.
function cursors.call_chunked(command, key, list)
  for i = 1, #list, 4000 do redis.call(command, key, unpack(list, i, math.min(i + 3999, #list))) end
end

-- Reads a cursor of any kind; nil if it is absent.  A cursor of kind kafka has only its keys: include/group_offset.
-- caller: the consumer that receives: cursors.member
function cursors.read(cursor, acks, leases, spans, due, pending, caller)
  local v = redis.call("HMGET", cursor, "kind", "consumer", "mark", "read", "leased", "held", "delivered", "redelivered",
    "consumer_until", "epoch", "taken", "returned", "tracked", "ahead", "@" .. (caller or ""))
  if not v[1] then return nil end
  local mark, read, leased, held, delivered = tonumber(v[3]), tonumber(v[4]), tonumber(v[5]), tonumber(v[6]), tonumber(v[7])
  local redelivered, consumer_until, epoch = tonumber(v[8]), tonumber(v[9]), tonumber(v[10])
  local taken, returned, tracked = tonumber(v[11]), tonumber(v[12]), tonumber(v[13])
  if v[1] ~= "kafka" then stored.check("The cursor of a subscription", { v[3], v[4], v[5], v[6], v[7], v[8], v[12], v[14] or "0" }) end
  local c = {
    cursor = cursor, acks = acks, leases = leases, spans = spans, due = due, pending = pending,
    kind = v[1], consumer = v[2], mark = mark, read = read, leased = leased, held = held, delivered = delivered,
    redelivered = redelivered, consumer_until = consumer_until, epoch = epoch or 0, taken = taken or 0,
    returned = returned or 0, mark_was = mark, writes = {}, chunks = {},
    consumer_was = v[2], -- as stored: NUMBERS, in that order
    stored = { mark, read, leased, held, delivered, redelivered, consumer_until, epoch, taken, returned, tracked },
    is_tracked = tracked and tracked == leased - returned + 2 * held, deltas = {}, queues = {}, places = {},
    ahead = tonumber(v[14] or 0), caller = caller, row = v[15] or "",
  }
  if c.kind ~= "kafka" and not c.is_tracked then cursors.recount(c) end
  return c
end

-- Reads a cursor of a subscription; returns nil and the reply of the script if there is none.
function cursors.open(...)
  local c = cursors.read(...)
  if not c then return nil, { UNKNOWN_SUB } end
  if c.kind == "kafka" then return nil, { WRONG_KIND, c.kind } end
  return c
end

-- Ranges {first, last, first, last, ...}, ascending and disjoint ------------------------------------------------------

-- Returns the ranges in ARGV from `from` on, and the number of their offsets.
function cursors.given(from)
  local ranges, size = {}, 0
  for i = from, #ARGV, 2 do
    local n = #ranges
    ranges[n + 1], ranges[n + 2] = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
    size = size + ranges[n + 2] - ranges[n + 1] + 1
  end
  return ranges, size
end

-- Returns `ranges` without `parts`, and the number of offsets.
function cursors.without(ranges, parts)
  local left, size, j = {}, 0, 1
  for i = 1, #ranges, 2 do
    local at, last = ranges[i], ranges[i + 1]
    while parts[j] and parts[j + 1] < at do j = j + 2 end
    local k = j
    while at <= last do
      local stop = last
      if parts[k] and parts[k] <= last then stop = parts[k] - 1 end
      if at <= stop then
        left[#left + 1], left[#left + 2] = at, stop
        size = size + stop - at + 1
      end
      at = stop + 1
      if parts[k] and at <= last then at, k = math.max(at, parts[k + 1] + 1), k + 2 end
    end
  end
  return left, size
end

-- Returns the holes of touched leases as one list.
function cursors.holes(touched)
  local holes = {}
  for _, lease in ipairs(touched) do
    for _, offset in ipairs(lease.holes) do holes[#holes + 1] = offset end
  end
  return holes
end

-- Returns the first of `ranges` that was never dispatched, or nil.
function cursors.undelivered(c, ranges)
  for i = 1, #ranges, 2 do
    if ranges[i + 1] >= c.read then return math.max(ranges[i], c.read) end
  end
end

-- Leases ---------------------------------------------------------------------------------------------------------

-- The consumer of a lease without one, like "", that was returned before it reached its consumer: that delivery does not
-- count.  No consumer has this name, since names are percent-encoded.
cursors.UNSEEN = "%"

function cursors.is_unassigned(consumer) return consumer == "" or consumer == cursors.UNSEEN end

-- Whether a lease is reserved: its consumer has fetched it ahead, and has not handed it out.  If it is not extended, acknowledged
-- or returned by itself, its delivery does not count.
function cursors.is_reserved(lease) return string.sub(lease.request, 1, 1) == "~" end

-- A lease without a consumer (returned, or of an aborted transaction) may be acknowledged by its earlier consumers.
function cursors.is_others(lease, consumer)
  return lease.consumer ~= consumer and lease.consumer ~= "" and lease.consumer ~= cursors.UNSEEN
end

-- Returns the reply that refuses a cumulative acknowledgement over these leases; nil if it is allowed.
-- Every lease must have been delivered to the consumer.  A lease without a consumer below `taken` was an earlier owner's.
function cursors.unconfirmed(c, touched, consumer)
  for _, lease in ipairs(touched) do
    local offset = lease.holes[1]
    if cursors.is_others(lease, consumer) then return { NOT_LEASED, offset, lease.consumer } end
    if lease.consumer == cursors.UNSEEN or (lease.consumer == "" and offset < c.taken) then return { NOT_DELIVERED, offset } end
  end
end

function cursors.lease(first, text)
  local last, consumer, count, deadline, request = string.match(text or "", "^(%d+) (%S*) (%d+) (%d+) ?(%S*)$")
  if not last then stored.damaged("A lease of a subscription") end
  return {
    first = first, last = tonumber(last), consumer = consumer, count = tonumber(count), deadline = tonumber(deadline),
    request = request, holes = {},
  }
end

-- Returns the values of a list of fields of any length, false for those that are absent.
function cursors.values_of(key, names)
  if #names <= 4000 then return names[1] and redis.call("HMGET", key, unpack(names)) or {} end
  local found = {}
  for i = 1, #names, 4000 do
    for _, value in ipairs(redis.call("HMGET", key, unpack(names, i, math.min(i + 3999, #names)))) do
      found[#found + 1] = value
    end
  end
  return found
end

-- Reads the leases that begin at the given offsets (strings), in that order.
function cursors.leases_at(c, firsts)
  local found = {}
  for i, text in ipairs(cursors.values_of(c.leases, firsts)) do found[i] = cursors.lease(tonumber(firsts[i]), text) end
  return found
end

-- Returns the leases that overlap ranges {first, last, first, last, ...} (ascending, disjoint), each with `holes`, the
-- overlaps as such a list; the number of overlapping offsets; and, if there are more than `most` leases or ranges, the last
-- offset that the result covers, else nil.
function cursors.touched(c, ranges, most)
  if cursors.has_keys(c.kind) then return cursors.touched_keyed(c, ranges, most) end
  local touched, size, tail = {}, 0, nil
  for i = 1, #ranges, 2 do
    local first, last = ranges[i], ranges[i + 1]
    if i > 2 * most then return touched, size, first - 1 end
    local found, reached = {}, nil
    if tail and tail.last >= first then found[1] = tail end
    if not tail or tail.last < last then
      local room, firsts = most - #touched, {}
      if room <= 0 then return touched, size, first - 1 end
      if not found[1] then
        local text = redis.call("HGET", c.leases, cursors.whole(first)) -- as a rule, ranges begin where leases do
        if text then
          found[1] = cursors.lease(first, text)
        else
          firsts = redis.call("ZREVRANGEBYSCORE", c.spans, cursors.whole(first), "0", "LIMIT", "0", "1")
        end
      end
      if last > first and not (found[1] and found[1].last >= last) then
        local names = redis.call("ZRANGEBYSCORE", c.spans, "(" .. cursors.whole(first), last, "LIMIT", "0", room)
        if #names == room then reached = tonumber(names[room]) end
        for _, name in ipairs(names) do firsts[#firsts + 1] = name end
      end
      for _, lease in ipairs(cursors.leases_at(c, firsts)) do
        if lease.last >= first then found[#found + 1] = lease end
      end
    end
    for _, lease in ipairs(found) do
      if lease ~= tail then
        touched[#touched + 1] = lease
        tail = lease
      end
      local from, to = math.max(first, lease.first), math.min(last, lease.last)
      lease.holes[#lease.holes + 1], lease.holes[#lease.holes + 2] = from, to
      size = size + to - from + 1
    end
    if reached and tail.last < last then return touched, size, tail.last end
  end
  return touched, size, nil
end

-- Returns the part of the ranges up to an offset (nil: all of them), and the number of its offsets.
function cursors.upto(ranges, reached)
  local kept, size = {}, 0
  for i = 1, #ranges, 2 do
    local last = math.min(ranges[i + 1], reached or ranges[i + 1])
    if ranges[i] > last then break end
    kept[#kept + 1], kept[#kept + 2] = ranges[i], last
    size = size + last - ranges[i] + 1
  end
  return kept, size
end

-- request: the name of the request that leases it; nil or "" without one.
-- Of a key_shared subscription every offset gets a lease of its own.
function cursors.put(c, first, last, consumer, count, deadline, request)
  if cursors.has_keys(c.kind) then return cursors.put_keyed(c, first, last, consumer, count, deadline, request) end
  local text = string.format("%d %s %d %d", last, consumer, count, deadline)
  if request and request ~= "" then text = text .. " " .. request end
  c.writes[first] = { text, cursors.whole(deadline) }
  c.leased = c.leased + last - first + 1
  if cursors.is_unassigned(consumer) then
    c.returned = c.returned + last - first + 1
  else
    cursors.count(c, consumer, last - first + 1)
  end
end

function cursors.drop(c, lease)
  if cursors.has_keys(c.kind) then return cursors.drop_keyed(c, lease) end
  c.writes[lease.first] = false
  c.leased = c.leased - (lease.last - lease.first + 1)
  if cursors.is_unassigned(lease.consumer) then
    c.returned = math.max(c.returned - (lease.last - lease.first + 1), 0)
  else
    cursors.count(c, lease.consumer, lease.first - lease.last - 1)
  end
end

-- Leases a part of a lease with the consumer, count and deadline of the whole.
function cursors.keep(c, lease, first, last)
  if first <= last then cursors.put(c, first, last, lease.consumer, lease.count, lease.deadline, lease.request) end
end

-- Removes the holes from the leases; the rest of each keeps its consumer, count and deadline.
function cursors.cut(c, touched)
  for _, lease in ipairs(touched) do
    local at = lease.first
    cursors.drop(c, lease)
    for i = 1, #lease.holes, 2 do
      cursors.keep(c, lease, at, lease.holes[i] - 1)
      at = lease.holes[i + 1] + 1
    end
    cursors.keep(c, lease, at, lease.last)
  end
end

-- Trimming and saving ---------------------------------------------------------------------------------------------

-- Follows the log start: drops leases below `start`, ignores what transactions hold there, and raises mark and read.
-- With many leases, or far behind, one call does a part of it; other calls do the rest, and dispatch skips it, since no
-- records are left there.
function cursors.trim(c, start)
  if start <= c.mark then return end
  if cursors.has_keys(c.kind) then return cursors.trim_queues(c, start) end
  local touched, size, reached = cursors.touched(c, { c.mark, math.min(start - 1, c.mark + TRIM_SPAN) }, TRIM_MAX)
  local upto = reached or math.min(start - 1, c.mark + TRIM_SPAN) -- the last offset to go
  if c.held > 0 then
    local last = math.min(upto, c.read - 1)
    c.held = math.max(c.held - (last - c.mark + 1 - size - cursors.acked(c, c.mark, last)), 0)
  end
  cursors.cut(c, touched)
  c.mark, c.read = upto + 1, math.max(c.read, start)
  cursors.save(c)
end

-- Moves the mark over acknowledged offsets, and writes all changes.
function cursors.save(c)
  cursors.fill_complete(c)
  if cursors.has_keys(c.kind) then cursors.save_queues(c) end
  if c.leased == 0 and c.held == 0 then
    c.mark = c.read
  elseif c.read - c.mark > c.leased + c.held then
    c.mark = cursors.unset(c, c.mark)
  end

  local gone, hashed, spans, due = {}, {}, {}, {}
  for first, row in pairs(c.writes) do
    local name = cursors.whole(first)
    if row then
      hashed[#hashed + 1], hashed[#hashed + 2] = name, row[1]
      spans[#spans + 1], spans[#spans + 2] = name, name
      due[#due + 1], due[#due + 2] = row[2], name
    else
      gone[#gone + 1] = name
    end
  end
  cursors.call_chunked("HDEL", c.leases, gone)
  cursors.call_chunked("ZREM", c.spans, gone)
  cursors.call_chunked("ZREM", c.due, gone)
  cursors.call_chunked("HSET", c.leases, hashed)
  cursors.call_chunked("ZADD", c.spans, spans)
  cursors.call_chunked("ZADD", c.due, due)

  cursors.save_acks(c)
  c.tracked = c.leased - c.returned + 2 * c.held
  local row = cursors.changed_consumers(c)
  if c.consumer ~= c.consumer_was then
    row[#row + 1], row[#row + 2], c.consumer_was = "consumer", c.consumer, c.consumer
  end
  for i, name in ipairs(NUMBERS) do
    local number = c[name]
    if number ~= c.stored[i] then row[#row + 1], row[#row + 2], c.stored[i] = name, cursors.whole(number), number end
  end
  if row[1] then redis.call("HSET", c.cursor, unpack(row)) end
  c.writes, c.mark_was = {}, c.mark
end

--- @include "include/ack_chunk"
--- @include "include/acks"
--- @include "include/slot_queues"
--- @include "include/consumers"
--- @include "include/unacked"
--- @include "include/pending_acks"
