-- Unacknowledged offsets of a key_shared subscription, in fields of the leases.  A lease is one offset there.
--     leases  "s<slot>"  the queue of a slot, 0 to 255, which is the last byte of the hash of a key, in binary:
--                        number of offsets (4 bytes), of those that are FRESH (4), bytes of the grants (4), the grants, then
--                        columns: offsets, six bytes each, ascending; keys, the other three bytes of the hash; states, one
--                        a grant: id (1), size (4), count (4), deadline (6), bytes of consumer (2) and request (2), these
--             "m<n>"     offsets 256 n to 256 n + 255: two bytes: how many of them are in queues, then their slots, a byte
--                        each.  There is none if no offset of these is in a queue
--     due     <slot> → the first deadline of its grants, if any; spans has only the sentinel
-- The state of an offset is HELD (a transaction has it), or the id of a grant: what leases of one call have in common.  An
-- offset that waits has a grant without consumer, with deadline 0; one that was returned with a delay gets it later.  FRESH
-- is the grant of those that no consumer has got yet.
--     queue   n, fresh, head, offsets, keys, states   as stored
--             moved                                   index → new state; 0: acknowledged
--             more, more_keys, more_states            columns of what is added
--             grants                                  id → {id, size, consumer, count, deadline, request}, when it is open
--             last, own                               the grant that was made last; of the consumer that receives, by count
local SLOTS, PER_PLACE, HELD, FRESH, GRANTS_MAX, ID_MAX = 256, 256, 1, 2, 200, 255
local queues = {}

-- Queues --------------------------------------------------------------------------------------------------------

function queues.damaged(slot) stored.damaged("The queue of hash slot " .. cursors.whole(slot) .. " of the subscription") end

local function parsed(slot, text)
  local q = {
    slot = slot, n = 0, fresh = 0, head = "", offsets = "", keys = "", states = "",
    moved = {}, more = {}, more_keys = {}, more_states = {},
  }
  if not text then return q end
  if #text < 12 then queues.damaged(slot) end
  local n, fresh, head = struct.unpack(">I4I4I4", text)
  local at = 12 + head
  if n == 0 or fresh > n or #text ~= at + 10 * n then queues.damaged(slot) end
  q.n, q.fresh, q.head = n, fresh, string.sub(text, 13, at)
  q.offsets, q.keys = string.sub(text, at + 1, at + 6 * n), string.sub(text, at + 6 * n + 1, at + 9 * n)
  q.states = string.sub(text, at + 9 * n + 1)
  return q
end

-- Reads the grants.
local function with_grants(q)
  if q.grants then return q end
  local grants, size, at, due, head = {}, 1, 1, math.huge, q.head
  grants[FRESH] = { id = FRESH, size = q.fresh, consumer = cursors.UNSEEN, count = 0, deadline = 0, request = "" }
  while at <= #head do
    if at + 18 > #head then queues.damaged(q.slot) end
    local id, offsets, count, deadline, length, request_length, from = struct.unpack(">I1I4I4I6I2I2", head, at)
    local behind = from + length
    at = behind + request_length
    grants[id] = {
      id = id, size = offsets, consumer = string.sub(head, from, behind - 1), count = count, deadline = deadline,
      request = string.sub(head, behind, at - 1),
    }
    size = size + 1
    if deadline > 0 and deadline < due then due = deadline end
  end
  if at ~= #head + 1 then queues.damaged(q.slot) end
  q.grants, q.size, q.due_was = grants, size, due
  return q
end

-- Returns the queue of a slot, open.
function cursors.queue(c, slot)
  local q = c.queues[slot]
  if not q then
    q = parsed(slot, redis.call("HGET", c.leases, "s" .. slot))
    c.queues[slot] = q
  end
  return with_grants(q)
end

-- Reads the queues of a list of slots, with one command, and does not open them.
function cursors.load_queues(c, slots)
  local names, missing = {}, {}
  for _, slot in ipairs(slots) do
    if not c.queues[slot] then names[#names + 1], missing[#missing + 1] = "s" .. slot, slot end
  end
  for i, text in ipairs(cursors.values_of(c.leases, names)) do c.queues[missing[i]] = parsed(missing[i], text) end
end

function cursors.load_all_queues(c)
  local slots = {}
  for slot = 0, SLOTS - 1 do slots[slot + 1] = slot end
  cursors.load_queues(c, slots)
end

-- Returns numbers i to j of a list in a binary form.  kind: of each, as for struct.pack.
queues.BULK = 1000 -- values that one call of a C function takes
queues.formats = { I4 = {}, I6 = {} }
function queues.packed(kind, list, i, j)
  local middle = i + queues.BULK
  if j >= middle then return queues.packed(kind, list, i, middle - 1) .. queues.packed(kind, list, middle, j) end
  local of_kind, n = queues.formats[kind], j - i + 1
  of_kind[n] = of_kind[n] or ">" .. string.rep(kind, n)
  return struct.pack(of_kind[n], unpack(list, i, j))
end

function queues.offset_at(q, i)
  if i > q.n then return q.more[i - q.n] end
  return (struct.unpack(">I6", q.offsets, 6 * i - 5))
end

function queues.key_at(q, i)
  if i > q.n then return q.more_keys[i - q.n] end
  return string.sub(q.keys, 3 * i - 2, 3 * i)
end

function queues.state_at(q, i)
  if i > q.n then return q.more_states[i - q.n] end
  return q.moved[i] or string.byte(q.states, i)
end

function queues.set_state(q, i, state)
  if i > q.n then q.more_states[i - q.n] = state else q.moved[i] = state end
  q.changed = true
end

-- Returns the first index of which the offset is not below `offset`.
function queues.lower_bound(q, offset)
  local low, high = 1, q.n + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if queues.offset_at(q, middle) < offset then low = middle + 1 else high = middle end
  end
  return low
end

-- Returns the index of an offset; nil if it is not there.
function queues.find(q, offset)
  local i, known = q.hint or 1, nil -- as a rule, offsets are looked up in order, and few are left out
  for at = i, math.min(i + 3, q.n) do
    known = struct.unpack(">I6", q.offsets, 6 * at - 5)
    if known >= offset then
      i = at
      break
    end
  end
  if known ~= offset then
    i = queues.lower_bound(q, offset)
    if i > q.n then
      for j, each in ipairs(q.more) do
        if each == offset then return q.n + j end
      end
      return nil
    end
    if queues.offset_at(q, i) ~= offset then return nil end
  end
  q.hint = i + 1
  if (q.moved[i] or string.byte(q.states, i)) > 0 then return i end
end

-- Returns whether an offset of this grant waits.
function queues.waits(grant) return grant.deadline == 0 and cursors.is_unassigned(grant.consumer) end

-- Returns the pattern that finds the next state of (or, with "^", outside) a set of ids; nil if the set is empty.
function queues.pattern(ids, outside)
  local parts = {}
  for _, id in ipairs(ids) do
    local char = string.char(id)
    parts[#parts + 1] = string.find(char, "%p") and "%" .. char or char
  end
  if not parts[1] then return outside and "." or nil end
  return "[" .. (outside and "^" or "") .. table.concat(parts) .. "]"
end

-- Returns the ids of the grants that `accepts` accepts.
function queues.ids(q, accepts)
  local ids = {}
  for id, grant in pairs(q.grants) do
    if grant.size > 0 and accepts(grant) then ids[#ids + 1] = id end
  end
  return ids
end

-- Visits the indexes, from `at` on, that have a state the pattern finds, until visit(index, state) returns true.
function queues.each(q, pattern, at, visit)
  if pattern then
    local i = string.find(q.states, pattern, at)
    while i do
      local state = queues.state_at(q, i)
      if state > 0 and visit(i, state) then return end
      i = string.find(q.states, pattern, i + 1)
    end
  end
end

-- Grants --------------------------------------------------------------------------------------------------------

-- Gives grants the offsets of others, which go.  They keep their request if all have it, and stay reserved if all are.
-- gone: id → id of the one that stays.
local function replace(q, gone)
  local ids, chars = {}, {}
  for id, kept in pairs(gone) do
    ids[#ids + 1], chars[string.char(id)] = id, string.char(kept)
    local from, to = q.grants[id], q.grants[kept]
    to.size, to.count = to.size + from.size, math.max(to.count, from.count)
    if to.request ~= from.request then
      to.request = cursors.is_reserved(to) and cursors.is_reserved(from) and "~" or ""
    end
    q.grants[id], q.size = nil, q.size - 1
  end
  q.states = string.gsub(q.states, queues.pattern(ids), chars)
  for _, states in ipairs({ q.moved, q.more_states }) do
    for i, state in pairs(states) do states[i] = gone[state] or state end
  end
  q.last, q.own = nil, nil
end

-- Makes one of the grants of a consumer, with this count, whose deadlines are in the same step, with the last deadline.  The
-- RECENT ones stay apart, since a receive that is sent again looks for its own.
local function share(q, consumer, count, step)
  local some, gone = {}, {}
  for _, grant in pairs(q.grants) do
    if grant.consumer == consumer and grant.count == count and grant.size > 0 then some[#some + 1] = grant end
  end
  table.sort(some, function(a, b) return a.deadline < b.deadline or (a.deadline == b.deadline and a.id < b.id) end)
  local kept
  for i = #some - queues.RECENT, 1, -1 do
    local grant = some[i]
    if kept and math.floor(kept.deadline / step) == math.floor(grant.deadline / step) then
      gone[grant.id] = kept.id
    else
      kept = grant
    end
  end
  if next(gone) then replace(q, gone) end
end

-- Makes one grant of two, with the later deadline: the two of one consumer, and if possible of one count, that are closest
-- in time.
local function merge(q)
  for _, with_count in ipairs({ true, false }) do
    local by, best = {}, nil
    for id, grant in pairs(q.grants) do
      local name = id == FRESH and "fresh" or with_count and grant.consumer .. " " .. grant.count or grant.consumer
      by[name] = by[name] or {}
      by[name][#by[name] + 1] = grant
    end
    for _, some in pairs(by) do
      table.sort(some, function(a, b) return a.deadline < b.deadline or (a.deadline == b.deadline and a.id < b.id) end)
      for i = 2, #some do
        local gap = some[i].deadline - some[i - 1].deadline
        if not best or gap < best[1] or (gap == best[1] and some[i].id < best[3].id) then best = { gap, some[i - 1], some[i] } end
      end
    end
    if best then
      replace(q, { [best[2].id] = best[3].id })
      return
    end
  end
end

-- Returns a grant; nil if there are as many as can be, of as many consumers.  step: ms in which leases of the consumer may
-- end together if it has many; nil: none.
queues.RECENT, queues.MANY, queues.STEPS = 8, 32, 16 -- STEPS: of a lease's time
function queues.grant(q, consumer, count, deadline, request, step)
  request = request or ""
  local last = q.last
  if last and last.deadline == deadline and last.consumer == consumer and last.count == count and last.request == request then
    return last
  end
  for _, grant in pairs(q.grants) do
    if grant.deadline == deadline and grant.consumer == consumer and grant.count == count and grant.request == request then
      q.last = grant
      return grant
    end
  end
  if step and q.size % queues.MANY == 0 then share(q, consumer, count, step) end
  if q.size >= GRANTS_MAX then merge(q) end
  for free = FRESH + 1, ID_MAX do
    local before = q.grants[free]
    if not before or before.size == 0 then
      q.last = { id = free, size = 0, consumer = consumer, count = count, deadline = deadline, request = request }
      q.grants[free] = q.last
      if not before then q.size = q.size + 1 end
      return q.last
    end
  end
end

-- Changes the state of an index, and the counters.
function queues.move(c, q, i, grant)
  queues.set_state(q, i, grant and grant.id or HELD)
  if not grant then return end
  grant.size, c.leased = grant.size + 1, c.leased + 1
  if cursors.is_unassigned(grant.consumer) then c.returned = c.returned + 1 else cursors.count(c, grant.consumer, 1) end
end

function queues.leave(c, q, i)
  local grant = q.grants[queues.state_at(q, i)]
  queues.set_state(q, i, HELD)
  grant.size, c.leased = grant.size - 1, c.leased - 1
  if cursors.is_unassigned(grant.consumer) then
    c.returned = math.max(c.returned - 1, 0)
  else
    cursors.count(c, grant.consumer, -1)
  end
end

--- @include "include/slot_leases"
--- @include "include/slot_queues_saved"
