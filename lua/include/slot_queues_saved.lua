-- Trimming, counting and writing of include/slot_queues.

-- Returns the grants and the number of those that are FRESH, as stored, and the first deadline.
local function grants_text(q)
  local parts, due = {}, math.huge
  for id, grant in pairs(q.grants) do
    if grant.size > 0 and id ~= FRESH then
      parts[#parts + 1] = struct.pack(">I1I4I4I6I2I2", id, grant.size, grant.count, grant.deadline, #grant.consumer, #grant.request)
        .. grant.consumer .. grant.request
      if grant.deadline > 0 and grant.deadline < due then due = grant.deadline end
    end
  end
  return table.concat(parts), q.grants[FRESH].size, due
end

-- Applies the changes to the columns, in blocks: those without changes are copied as they are.
queues.BLOCK = 16
local function rewrite(q)
  local BLOCK, BULK = queues.BLOCK, queues.BULK
  local offsets, keys, states, kept_from, changed = {}, {}, {}, 1, {}
  for i in pairs(q.moved) do changed[math.floor((i - 1) / BLOCK)] = true end
  local from = 1 -- all before it is in `states`; all before kept_from in `offsets` and `keys`
  for block = 0, math.floor((q.n - 1) / BLOCK) do
    if changed[block] then
      local first, last, size = block * BLOCK + 1, math.min((block + 1) * BLOCK, q.n), 0
      if from < first then states[#states + 1] = string.sub(q.states, from, first - 1) end
      local some = { string.byte(q.states, first, last) }
      for i = first, last do
        local state = q.moved[i] or some[i - first + 1]
        if state > 0 then
          size = size + 1
          some[size] = state
        else
          if kept_from < i then
            offsets[#offsets + 1] = string.sub(q.offsets, 6 * kept_from - 5, 6 * i - 6)
            keys[#keys + 1] = string.sub(q.keys, 3 * kept_from - 2, 3 * i - 3)
          end
          kept_from = i + 1
        end
      end
      states[#states + 1] = string.char(unpack(some, 1, size))
      from = last + 1
    end
  end
  states[#states + 1] = string.sub(q.states, from)
  offsets[#offsets + 1], keys[#keys + 1] = string.sub(q.offsets, 6 * kept_from - 5), string.sub(q.keys, 3 * kept_from - 2)
  if #q.more > 0 then
    offsets[#offsets + 1], keys[#keys + 1] = queues.packed("I6", q.more, 1, #q.more), table.concat(q.more_keys)
    for from = 1, #q.more, BULK do
      states[#states + 1] = string.char(unpack(q.more_states, from, math.min(from + BULK - 1, #q.more)))
    end
  end
  q.offsets, q.keys, q.states = table.concat(offsets), table.concat(keys), table.concat(states)
end

-- Returns what to store of a queue, nil: nothing; and its first deadline, nil: as it was.
local function queue_text(q)
  local head, fresh, due = q.head, q.fresh, nil
  if q.grants then head, fresh, due = grants_text(q) end
  rewrite(q)
  if q.states == "" then return nil, due end
  return struct.pack(">I4I4I4", #q.states, fresh, #head) .. head .. q.offsets .. q.keys .. q.states, due
end

-- Writes the changes.  cursors.save calls it.
function cursors.save_queues(c)
  cursors.apply_followers(c)
  local gone, kept, due, not_due = {}, {}, {}, {}
  for slot, q in pairs(c.queues) do
    if q.changed then
      local name, text, deadline = cursors.whole(slot), queue_text(q)
      if text then kept[#kept + 1], kept[#kept + 2] = "s" .. name, text else gone[#gone + 1] = "s" .. name end
      if deadline and deadline ~= q.due_was then
        if deadline < math.huge then
          due[#due + 1], due[#due + 2] = cursors.whole(deadline), name
        else
          not_due[#not_due + 1] = name
        end
      end
    end
  end
  for n, p in pairs(c.places) do
    if p.changed and p.count > 0 then
      kept[#kept + 1], kept[#kept + 2] = "m" .. cursors.whole(n), struct.pack(">I2", p.count) .. p.slots
    elseif p.changed then
      gone[#gone + 1] = "m" .. cursors.whole(n)
    end
  end
  cursors.call_chunked("HDEL", c.leases, gone)
  cursors.call_chunked("HSET", c.leases, kept)
  cursors.call_chunked("ZADD", c.due, due)
  cursors.call_chunked("ZREM", c.due, not_due)
  c.queues, c.places = {}, {}
end

-- Follows the log start, as cursors.trim, at once: what is leased or held below it is in no queue any more.
function cursors.trim_queues(c, start)
  cursors.load_all_queues(c)
  local first_place = math.floor(start / PER_PLACE)
  local kept = 0 -- offsets from `start` on in the place of `start`
  for _, q in pairs(c.queues) do
    with_grants(q)
    local k = queues.lower_bound(q, start) - 1
    kept = kept + queues.lower_bound(q, (first_place + 1) * PER_PLACE) - 1 - k
    if k > 0 then
      local passed = string.sub(q.states, 1, k)
      for id, grant in pairs(q.grants) do
        local _, size = string.gsub(passed, queues.pattern({ id }), "")
        grant.size, c.leased = grant.size - size, c.leased - size
        if cursors.is_unassigned(grant.consumer) then
          c.returned = math.max(c.returned - size, 0)
        elseif size > 0 then
          cursors.count(c, grant.consumer, -size)
        end
      end
      local _, held = string.gsub(passed, string.char(HELD), "")
      c.held = math.max(c.held - held, 0)
      q.offsets, q.keys, q.states = string.sub(q.offsets, 6 * k + 1), string.sub(q.keys, 3 * k + 1), string.sub(q.states, k + 1)
      q.n, q.hint, q.changed = q.n - k, nil, true
    end
  end
  local gone, passed_place = {}, math.floor(c.mark / PER_PLACE)
  if first_place - passed_place > redis.call("HLEN", c.leases) then
    for _, name in ipairs(redis.call("HKEYS", c.leases)) do
      local n = tonumber(string.match(name, "^m(%d+)$"))
      if n and n < first_place then gone[#gone + 1] = name end
    end
  else
    for n = passed_place, first_place - 1 do gone[#gone + 1] = "m" .. cursors.whole(n) end
  end
  cursors.call_chunked("HDEL", c.leases, gone)
  local p = place(c, first_place)
  if p.count ~= kept then p.count, p.changed = kept, true end
  c.mark, c.read = start, math.max(c.read, start)
  cursors.save(c)
end

-- Calls visit(consumer, offsets) for each grant.
function cursors.each_grant(c, visit)
  cursors.load_all_queues(c)
  for _, q in pairs(c.queues) do
    for _, grant in pairs(with_grants(q).grants) do visit(grant.consumer, grant.size) end
  end
end
