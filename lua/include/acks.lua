-- Acknowledged offsets of a subscription beyond the mark, in chunks of 8192.  A chunk is stored in the smallest form:
--     acks  "8e9m"   full: the chunks 8192 m to 8192 m + 8191 of which every offset is acknowledged, as a list or a bitmap
--           "9e9n"   chunk n as a list
--           "n"      chunk n as a bitmap
-- The names of the first two are numbers too large for a chunk.  A chunk is the union of all.  What is below the mark counts
-- as acknowledged, whatever is stored of it.
local CHUNK = 8192

function cursors.full_name(m) return "8e9" .. cursors.whole(m) end
function cursors.list_name(n) return "9e9" .. cursors.whole(n) end

-- Returns the set of full chunks in group m.  text: what is stored, if it was read already.
function cursors.full(c, m, text)
  c.full = c.full or {}
  if not c.full[m] then
    if text == nil then text = redis.call("HGET", c.acks, cursors.full_name(m)) end
    c.full[m] = sets.of(text)
  end
  return c.full[m]
end

-- Returns the set of chunk n.
function cursors.chunk(c, n)
  if c.chunks[n] then return c.chunks[n] end
  local m = math.floor(n / CHUNK)
  local stored = redis.call("HMGET", c.acks, cursors.list_name(n), cursors.whole(n), cursors.full_name(m))
  local list, bits, set = stored[1], stored[2], nil
  if sets.absent(cursors.full(c, m, stored[3]), n % CHUNK) > n % CHUNK then
    set = { runs = { 0, CHUNK - 1 }, adds = {} }
  elseif bits then
    set = { bits = sets.wide(bits), adds = list and sets.decode(list) or {} }
  else
    set = sets.of(list)
  end
  set.has_list, set.has_bits = list and true, bits and true
  c.chunks[n] = set
  return set
end

-- Makes chunks x to y full.
function cursors.fill(c, x, y)
  c.filled = c.filled or {}
  c.filled[#c.filled + 1], c.filled[#c.filled + 2] = x, y
  for n in pairs(c.chunks) do
    if x <= n and n <= y then c.chunks[n] = nil end
  end
  while x <= y do
    local m = math.floor(x / CHUNK)
    local stop = math.min(y, m * CHUNK + CHUNK - 1)
    sets.add(cursors.full(c, m), x - m * CHUNK, stop - m * CHUNK)
    x = stop + 1
  end
end

-- Acknowledges offsets first to last, which are neither leased nor pending.  Call in ascending order.
function cursors.delete(c, first, last)
  if first <= c.mark then
    c.mark = math.max(c.mark, last + 1)
    return
  end
  while first <= last do
    local n, behind = math.floor(first / CHUNK), math.floor((last + 1) / CHUNK) -- behind: the first chunk not covered whole
    if first == n * CHUNK and behind > n then
      cursors.fill(c, n, behind - 1)
      first = behind * CHUNK
    else
      local stop = math.min(last, n * CHUNK + CHUNK - 1)
      sets.add(cursors.chunk(c, n), first - n * CHUNK, stop - n * CHUNK)
      first = stop + 1
    end
  end
end

-- Returns the first offset from `at` on that is not acknowledged.
function cursors.unset(c, at)
  while true do
    local n = math.floor(at / CHUNK)
    local m = math.floor(n / CHUNK)
    local following = sets.absent(cursors.full(c, m), n - m * CHUNK) + m * CHUNK
    if following > n then
      at = following * CHUNK
    else
      local found = sets.absent(cursors.chunk(c, n), at - n * CHUNK)
      at = n * CHUNK + found
      if found < CHUNK then return at end
    end
  end
end

-- Returns the first of the offsets first to last that is acknowledged; last + 1 if none is.
function cursors.set(c, first, last)
  while first <= last do
    local n = math.floor(first / CHUNK)
    local found = sets.present(cursors.chunk(c, n), first - n * CHUNK)
    if found < CHUNK then return math.min(n * CHUNK + found, last + 1) end
    first = (n + 1) * CHUNK
  end
  return last + 1
end

-- Passes over the offsets from `read` on that are acknowledged already, up to `stable`.  Returns whether there were any.
function cursors.skip(c, stable)
  if c.read >= c.ahead then return false end
  local before = c.read
  c.read = math.max(math.min(cursors.unset(c, before), stable), before)
  return c.read > before
end

-- Returns a visitor for each_stretch that calls `visit`, of ranges that are partly acknowledged with their parts: new
-- records may be acknowledged after cursor/restore.  After PARTS_MAX parts it stops.
local PARTS_MAX = 200
function cursors.by_parts(c, visit)
  if c.read >= c.ahead then return visit end
  local parts = 0
  return function(first, last, fields)
    if not fields or first >= c.ahead then return visit(first, last, fields) end
    while first <= last do
      local unset = cursors.unset(c, first)
      local upto = unset > first and math.min(unset - 1, last) or cursors.set(c, first, last) - 1
      if parts >= PARTS_MAX then return first end
      parts = parts + 1
      local stop = visit(first, upto, unset == first and fields or nil)
      if stop then return stop end
      first = upto + 1
    end
  end
end

-- Returns how many of the offsets first to last are acknowledged.
function cursors.acked(c, first, last)
  local count = math.max(math.min(last + 1, c.mark) - first, 0)
  first = math.max(first, c.mark)
  while first <= last do
    local n = math.floor(first / CHUNK)
    local m = math.floor(n / CHUNK)
    local stop = (sets.absent(cursors.full(c, m), n - m * CHUNK) + m * CHUNK) * CHUNK - 1
    if stop >= first then
      stop = math.min(stop, last)
      count = count + stop - first + 1
    else
      stop = math.min(last, n * CHUNK + CHUNK - 1)
      count = count + sets.count(cursors.chunk(c, n), first - n * CHUNK, stop - n * CHUNK)
    end
    first = stop + 1
  end
  return count
end

-- Makes the chunks full of which the last offset was acknowledged in this call.
function cursors.fill_complete(c)
  local complete = {}
  for n, set in pairs(c.chunks) do
    if set.changed and sets.absent(set, 0) == CHUNK then complete[#complete + 1] = n end
  end
  table.sort(complete)
  for _, n in ipairs(complete) do cursors.fill(c, n, n) end
end

-- Adds the fields of chunks x to y to names, and the groups of which all chunks are among them.
function cursors.names_of(c, x, y, names)
  if y - x > 64 and 2 * (y - x) > redis.call("HLEN", c.acks) then
    for _, name in ipairs(redis.call("HKEYS", c.acks)) do
      local n = tonumber(string.match(name, "^9e9(%d+)$") or string.match(name, "^(%d+)$"))
      if n and x <= n and n <= y then names[#names + 1] = name end
    end
  else
    for n = x, y do names[#names + 1], names[#names + 2] = cursors.list_name(n), cursors.whole(n) end
  end
end

-- Writes the changed sets, and deletes those that are full or that the mark has passed.
function cursors.save_acks(c)
  local from, to = math.floor(c.mark_was / CHUNK), math.floor(c.mark / CHUNK)
  local gone, kept, filled = {}, {}, c.filled or {}
  local group = math.floor(to / CHUNK)
  if to > from then cursors.names_of(c, from, to - 1, gone) end
  for m = math.floor(from / CHUNK), group - 1 do gone[#gone + 1] = cursors.full_name(m) end
  for i = 1, #filled, 2 do
    if filled[i + 1] >= to then cursors.names_of(c, math.max(filled[i], to), filled[i + 1], gone) end
  end
  for m, set in pairs(c.full or {}) do
    if set.changed and m >= group then
      if m == group and to % CHUNK > 0 then sets.add(set, 0, to % CHUNK - 1) end
      sets.settle(set)
      kept[#kept + 1], kept[#kept + 2] = cursors.full_name(m), sets.text(set)
    end
  end
  for n, set in pairs(c.chunks) do
    if set.changed and n >= to then
      sets.settle(set)
      kept[#kept + 1], kept[#kept + 2] = set.runs and cursors.list_name(n) or cursors.whole(n), sets.text(set)
      if set.runs and set.has_bits then gone[#gone + 1] = cursors.whole(n) end
      if set.bits and set.has_list then gone[#gone + 1] = cursors.list_name(n) end
    end
  end
  cursors.call_chunked("HDEL", c.acks, gone)
  cursors.call_chunked("HSET", c.acks, kept)
  c.chunks, c.full, c.filled = {}, nil, nil
end
