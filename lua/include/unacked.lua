-- Unacknowledged offsets of each consumer: those that it has leased, and those that it has acknowledged in a transaction
-- that is still open.  The number is in the consumer's field (include/consumers); cursors.save writes it.

function cursors.count(c, consumer, size) c.deltas[consumer] = (c.deltas[consumer] or 0) + size end

-- Returns the consumer that receives, as stored.
function cursors.member(c) return consumers.parse(c.caller, c.row) end

-- Returns how many more offsets the consumer that receives, and the subscription, may have.  A limit of 0: any number.
function cursors.permits(c, consumer_max, subscription_max)
  local permits = { math.huge, math.huge }
  if consumer_max > 0 then
    permits[1] = math.max(consumer_max - cursors.member(c).unacked - (c.deltas[c.caller] or 0), 0)
  end
  if subscription_max > 0 then permits[2] = math.max(subscription_max - (c.leased - c.returned + c.held), 0) end
  return permits
end

-- Counts for all consumers anew.
function cursors.recount(c)
  local counts, all = {}, cursors.has_keys(c.kind) and {} or redis.call("HGETALL", c.leases)
  if cursors.has_keys(c.kind) then
    cursors.each_grant(c, function(consumer, size) counts[consumer] = (counts[consumer] or 0) + size end)
  end
  for i = 1, #all, 2 do
    local lease = tonumber(all[i]) and cursors.lease(tonumber(all[i]), all[i + 1])
    if lease and not cursors.is_unassigned(lease.consumer) then
      counts[lease.consumer] = (counts[lease.consumer] or 0) + lease.last - lease.first + 1
    end
  end
  for _, row in ipairs(redis.call("HVALS", c.pending)) do
    for consumer, size in pairs(cursors.holders(string.match(row, "^(.*)%s%S*$") or "")) do
      counts[consumer] = (counts[consumer] or 0) + size
    end
  end
  for _, member in ipairs(consumers.all(c.cursor)) do
    cursors.count(c, member.name, (counts[member.name] or 0) - member.unacked)
  end
end

-- Returns fields and values to write: the consumers whose numbers have changed, of those that the cursor has.
function cursors.changed_consumers(c)
  local names, row = {}, {}
  if c.receiver then cursors.count(c, c.receiver.name, 0) end
  for consumer, delta in pairs(c.deltas) do
    if delta ~= 0 or (c.receiver and c.receiver.name == consumer) then names[#names + 1] = "@" .. consumer end
  end
  if not names[1] then return row end
  for i, text in ipairs(redis.call("HMGET", c.cursor, unpack(names))) do
    local name = string.sub(names[i], 2)
    local is_receiver = c.receiver and c.receiver.name == name
    if text or is_receiver then
      local member = consumers.parse(name, text or "")
      member.unacked = math.max(member.unacked + c.deltas[name], 0)
      if is_receiver then
        if member.ends <= c.receiver.now then member.since = c.receiver.now end -- its earlier session is over
        if not text then consumers.make_room(c.cursor, member.since) end
        member.ends = math.max(member.ends, c.receiver.ends)
        member.delivered = member.delivered + c.receiver.delivered
        member.redelivered = member.redelivered + c.receiver.redelivered
        member.request = c.receiver.request or member.request
      end
      row[#row + 1], row[#row + 2] = names[i], consumers.text(member)
    end
  end
  c.deltas, c.receiver = {}, nil
  return row
end

-- What a transaction holds by consumer, in the head of its row: " @c1:25,c2:3".
function cursors.holders(head)
  local by = {}
  for consumer, size in string.gmatch(string.match(head, " @(%S+)") or "", "([^:,]+):(%d+)") do by[consumer] = tonumber(size) end
  return by
end

function cursors.holders_text(by)
  local parts = {}
  for consumer, size in pairs(by or {}) do parts[#parts + 1] = string.format("%s:%d", consumer, size) end
  table.sort(parts)
  return parts[1] and " @" .. table.concat(parts, ",") or ""
end

-- The holes of touched leases stay with the consumers that had leased them.
function cursors.hold_for(c, held, touched)
  held.by = held.by or {}
  for _, lease in ipairs(touched) do
    if not cursors.is_unassigned(lease.consumer) then
      for i = 1, #lease.holes, 2 do
        local size = lease.holes[i + 1] - lease.holes[i] + 1
        held.by[lease.consumer] = (held.by[lease.consumer] or 0) + size
        cursors.count(c, lease.consumer, size)
      end
    end
  end
end

-- Lowers the counters by the ranges that a transaction no longer holds; is_left: it holds others.
function cursors.release_for(c, held, taken, is_left)
  local size = 0
  for _, range in ipairs(taken) do size = size + range[2] - range[1] + 1 end
  for consumer, count in pairs(held.by or {}) do
    local gone = is_left and math.min(count, size) or count
    size = size - gone
    cursors.count(c, consumer, -gone)
    held.by[consumer] = count > gone and count - gone or nil
  end
end
