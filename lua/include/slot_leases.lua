-- Leases of a key_shared subscription, in include/slot_queues: what include/cursor does for other kinds.

-- Places --------------------------------------------------------------------------------------------------------

local function place_of(n, text)
  if not text then return { count = 0, slots = "" } end
  if #text < 3 then
    stored.damaged("The list of hash slots of the subscription, from offset " .. cursors.whole(n * PER_PLACE) .. " on,")
  end
  return { count = (struct.unpack(">I2", text)), slots = string.sub(text, 3) }
end

local function place(c, n)
  local p = c.places[n]
  if not p then
    p = place_of(n, redis.call("HGET", c.leases, "m" .. cursors.whole(n)))
    c.places[n] = p
  end
  return p
end


-- Returns the slot of an offset, nil if none of its place is in a queue, or none from it on; and its place.
function queues.slot_at(c, offset)
  local n = math.floor(offset / PER_PLACE)
  local p = c.places[n] or place(c, n)
  return p.count > 0 and string.byte(p.slots, offset - n * PER_PLACE + 1) or nil, p
end

-- Returns the queue of an offset, its index there, and its place; nil if it is in none.
function cursors.entry(c, offset)
  local slot, p = queues.slot_at(c, offset)
  if not slot then return nil end
  local q = cursors.queue(c, slot)
  local i = queues.find(q, offset)
  if i then return q, i, p end
end

-- Reads the queues of the offsets of {{first, last}, ...}: what a call reads before its first write cannot fail behind it.
function cursors.read_queues(c, ranges)
  for _, range in ipairs(ranges) do
    for offset = range[1], range[2] do
      local slot = queues.slot_at(c, offset)
      if slot then cursors.queue(c, slot) end
    end
  end
end

-- Notes the slots of offsets from `first` on, which are above all others and in queues.  slots: a byte each.
function cursors.place(c, first, slots)
  local at = 1
  while at <= #slots do
    local n = math.floor((first + at - 1) / PER_PLACE)
    local p, inside = place(c, n), first + at - 1 - n * PER_PLACE
    local some = string.sub(slots, at, at + PER_PLACE - inside - 1)
    p.slots = p.slots .. string.rep("\0", inside - #p.slots) .. some
    p.count, p.changed, at = p.count + #some, true, at + #some
  end
end

-- Adds an offset above all others, FRESH or with a grant, without its slot: cursors.place.
function queues.add(c, q, offset, key, grant)
  local at = #q.more + 1
  q.more[at], q.more_keys[at], q.more_states[at], q.changed = offset, key, FRESH, true
  if grant then
    queues.move(c, q, q.n + at, grant)
    return
  end
  if q.grants then q.grants[FRESH].size = q.grants[FRESH].size + 1 else q.fresh = q.fresh + 1 end
  c.leased, c.returned = c.leased + 1, c.returned + 1
end

-- Leases ---------------------------------------------------------------------------------------------------------

-- Returns the grant of an index; nil if a transaction holds the offset.
function queues.grant_at(q, i)
  local state = queues.state_at(q, i)
  local grant = q.grants[state]
  if not grant and state ~= HELD then queues.damaged(q.slot) end
  return grant
end

-- q, at: for cursors.drop
function queues.lease(q, i)
  local grant, offset = queues.grant_at(q, i), queues.offset_at(q, i)
  return grant and {
    first = offset, last = offset, consumer = grant.consumer, count = grant.count, deadline = grant.deadline,
    holes = { offset, offset }, request = grant.request, q = q, at = i,
  }
end

function cursors.put_keyed(c, first, last, consumer, count, deadline, request)
  for offset = first, last do
    local q, i = cursors.entry(c, offset)
    if q then queues.move(c, q, i, queues.grant(q, consumer, count, deadline, request)) end
  end
end

-- An offset whose lease was dropped is held, until it gets another one or is forgotten.
function cursors.drop_keyed(c, lease) queues.leave(c, lease.q, lease.at) end

-- Visits the offsets of ranges that are in queues: visit(queue, index, offset, place).  As cursors.touched, it returns the
-- last offset that it covers if there are more than `most`.  An offset costs less than a lease of another kind.
local LOOK_MAX, PER_LEASE = 16384, 4
function cursors.each_entry(c, ranges, most, visit)
  local found, looked, names, wanted = 0, 0, {}, {}
  most = most * PER_LEASE
  for i = 1, #ranges, 2 do -- most are of few places
    local n = math.floor(ranges[i] / PER_PLACE)
    if not c.places[n] and n ~= wanted[#wanted] then wanted[#wanted + 1], names[#names + 1] = n, "m" .. cursors.whole(n) end
  end
  for i, text in ipairs(cursors.values_of(c.leases, names)) do c.places[wanted[i]] = place_of(wanted[i], text) end
  local places, opened, n, p = c.places, c.queues, -1, nil
  for i = 1, #ranges, 2 do
    local offset, last = math.max(ranges[i], c.mark), ranges[i + 1]
    while offset <= last do
      if found >= most or looked >= LOOK_MAX then return offset - 1 end
      looked = looked + 1
      if offset < n * PER_PLACE or offset >= (n + 1) * PER_PLACE then
        n = math.floor(offset / PER_PLACE)
        p = places[n] or place(c, n)
      end
      if p.count == 0 then
        offset = (n + 1) * PER_PLACE
      else
        local slot = string.byte(p.slots, offset - n * PER_PLACE + 1)
        if slot then
          local q = opened[slot]
          if not q or not q.grants then q = cursors.queue(c, slot) end
          local at = queues.find(q, offset)
          if at then
            found = found + 1
            visit(q, at, offset, p)
          end
        end
        offset = offset + 1
      end
    end
  end
end

-- As cursors.touched.
function cursors.touched_keyed(c, ranges, most)
  local touched = {}
  local reached = cursors.each_entry(c, ranges, most, function(q, at) touched[#touched + 1] = queues.lease(q, at) end)
  return touched, #touched, reached
end

-- As cursors.touched, for cursor/ack: without a table for each lease.  Returns queues, indexes and places of the leased
-- offsets, these as ranges (holes), and the reply that refuses the consumer, if any; their number; and the last offset covered.
function cursors.found_keyed(c, ranges, most, consumer)
  local found, size = { qs = {}, indexes = {}, places = {}, holes = {} }, 0
  local holes = found.holes
  local reached = cursors.each_entry(c, ranges, most, function(q, at, offset, p)
    local grant = queues.grant_at(q, at)
    if not grant then return end -- a transaction holds it
    if cursors.is_others(grant, consumer) then
      found.refused = found.refused or { NOT_LEASED, offset, grant.consumer }
    end
    size = size + 1
    found.qs[size], found.indexes[size], found.places[size] = q, at, p
    local n = #holes
    if n > 0 and holes[n] == offset - 1 then holes[n] = offset else holes[n + 1], holes[n + 2] = offset, offset end
  end)
  return found, size, reached
end

-- Removes what found_keyed has found; cursors.delete then acknowledges it.
function cursors.forget_found(c, found)
  for k, q in ipairs(found.qs) do
    local at, p = found.indexes[k], found.places[k]
    queues.leave(c, q, at)
    queues.set_state(q, at, 0)
    p.count, p.changed = p.count - 1, true
  end
end

-- Returns up to `most` leases of the grants that `accepts` accepts, by slot.
function cursors.leases_where(c, most, accepts)
  local found = {}
  cursors.load_all_queues(c)
  for slot = 0, SLOTS - 1 do
    local q = cursors.queue(c, slot)
    queues.each(q, queues.pattern(queues.ids(q, accepts)), 1, function(i)
      if #found < most then found[#found + 1] = queues.lease(q, i) end
      return #found >= most
    end)
    if #found >= most then break end
  end
  return found
end

-- Removes acknowledged offsets.
function cursors.forget_keys(c, ranges)
  for i = 1, #ranges, 2 do
    for offset = ranges[i], ranges[i + 1] do
      local q, at, p = cursors.entry(c, offset)
      if q then
        queues.set_state(q, at, 0)
        p.count, p.changed = p.count - 1, true
      end
    end
  end
end

-- After offsets were returned: those behind them of the same key are returned as well, so that they are delivered again
-- behind them, and wait as long.
function cursors.return_followers(c, offset, deadline)
  local q, i = cursors.entry(c, offset)
  if not q then return end
  q.returned = q.returned or {}
  local key = queues.key_at(q, i)
  local known = q.returned[key]
  if not known or i < known[1] then q.returned[key] = { i, deadline } end
  q.returned_from = math.min(q.returned_from or i, i)
end

function queues.returned_to(grant, is_unseen)
  return (cursors.is_reserved(grant) or (is_unseen and is_unseen(grant))) and cursors.UNSEEN or ""
end

-- Visits the indexes behind `first` of a key: visit(index).
function queues.each_of_key(q, key, first, visit)
  local at = string.find(q.keys, key, 3 * first + 1, true)
  while at do
    if at % 3 == 1 then visit((at + 2) / 3) end
    at = string.find(q.keys, key, at + 1, true)
  end
  for j, each in ipairs(q.more_keys) do
    if each == key and q.n + j > first then visit(q.n + j) end
  end
end

-- Returns their number.  is_unseen: whether a grant did not reach its consumer; nil: all did.
queues.SEARCHED_MAX = 200 -- keys that are searched for in a queue; with more, all its offsets are visited
function cursors.apply_followers(c, is_unseen)
  local count = 0
  for _, q in pairs(c.queues) do
    if q.returned then
      local keys = 0
      for _ in pairs(q.returned) do keys = keys + 1 end
      local function follow(i, key)
        local first, grant = q.returned[key], q.grants[queues.state_at(q, i)]
        if first and i > first[1] and grant and not cursors.is_unassigned(grant.consumer) then
          queues.leave(c, q, i)
          queues.move(c, q, i, queues.grant(q, queues.returned_to(grant, is_unseen), grant.count, first[2]))
          count = count + 1
        end
      end
      if keys <= queues.SEARCHED_MAX then
        for key, first in pairs(q.returned) do
          queues.each_of_key(q, key, first[1], function(i) follow(i, key) end)
        end
      else
        local leased = queues.pattern(queues.ids(q, function(grant) return not cursors.is_unassigned(grant.consumer) end))
        queues.each(q, leased, q.returned_from + 1, function(i) follow(i, queues.key_at(q, i)) end)
      end
      q.returned, q.returned_from = nil, nil
    end
  end
  return count
end

-- Makes the offsets of a slot wait whose deadline has come, and notes those behind them of their keys.  Returns their
-- number.  is_unseen: as in apply_followers.
function cursors.return_overdue(c, slot, now, is_unseen)
  local q, count = cursors.queue(c, slot), 0
  local overdue = queues.ids(q, function(grant) return grant.deadline > 0 and grant.deadline <= now end)
  queues.each(q, queues.pattern(overdue), 1, function(i, state)
    local grant = q.grants[state]
    local was_leased = not cursors.is_unassigned(grant.consumer)
    queues.leave(c, q, i)
    queues.move(c, q, i, queues.grant(q, was_leased and queues.returned_to(grant, is_unseen) or grant.consumer, grant.count, 0))
    if was_leased then cursors.return_followers(c, queues.offset_at(q, i), 0) end
    count = count + 1
  end)
  return count
end
