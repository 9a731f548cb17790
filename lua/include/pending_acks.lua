-- Offsets of a subscription that transactions hold (PENDING_ACK).  Each acknowledgement rewrites the value of its
-- transaction, so ranges beyond 2 KiB are in further fields, one for each region of offsets:
--     pending  "coordinator-serial"    → "I ranges" or "C upto - ranges", C after a cumulative acknowledgement
--              "coordinator-serial"    → "I +a0,a3 ranges" or "C upto +a0,a3 ranges": there are fields for a0 and a3
--              "coordinator-serial/a3" → "R ranges", of offsets 192 to 255
--              "coordinator-serial"    → "I t1763720931000 ranges", the time of its first acknowledgement, before the consumers
--              "coordinator-serial"    → "I @c1:25,c2:3 ranges", by consumer: what they had leased before; before regions
-- Regions a, b, c ... have 64, 64², 64³ ... offsets; a range is in the smallest kind that is not shorter, cut at its end.
-- A range is first-last-count; ranges are disjoint and unordered.  Ranges below the mark are ignored: retention has removed
-- their records.
local BODY_BYTES, LOOK_MAX = 2048, 100
local REGIONS = { { "a", 64 }, { "b", 64 ^ 2 }, { "c", 64 ^ 3 }, { "d", 64 ^ 4 }, { "e", 64 ^ 9 } }

function cursors.range_text(first, last, count) return string.format("%d-%d-%d", first, last, count) end

-- Returns the ranges of a field as {{first, last, count}, ...}, ascending, above the mark.
function cursors.ranges(c, text)
  local found = {}
  for first, last, count in string.gmatch(string.match(text, "(%S*)$"), "(%d+)%-(%d+)%-(%d+)") do
    first, last = math.max(tonumber(first), c.mark_was), tonumber(last)
    if first <= last then found[#found + 1] = { first, last, tonumber(count) } end
  end
  table.sort(found, function(a, b) return a[1] < b[1] end)
  return found
end

-- Reads what a transaction holds, or nil: its head ("I" or "C upto"), regions, and ranges as text.
function cursors.holding(c, txn)
  local text = redis.call("HGET", c.pending, txn)
  if not text then return nil end
  local head, body = string.match(text, "^(.*)%s(%S*)$")
  if not head then stored.damaged("What a transaction has acknowledged on a subscription") end
  local held = { body = body, head = string.match(head, "^C %d+") or "I", regions = {} }
  for n in string.gmatch(string.match(head, "%+(%S+)$") or "", "%w+") do held.regions[#held.regions + 1] = n end
  held.upto = tonumber(string.match(held.head, "%d+"))
  held.by, held.at = cursors.holders(head), string.match(head, " t(%d+)")
  return held
end

function cursors.held_since(at) return at and " t" .. at or "" end

local function holding_save(c, txn, held)
  local regions = #held.regions > 0 and " +" .. table.concat(held.regions, ",") or string.sub(held.head, 1, 1) == "C" and " -" or ""
  redis.call("HSET", c.pending, txn, held.head .. cursors.held_since(held.at) .. cursors.holders_text(held.by) .. regions .. " " .. held.body)
end

-- Returns {first, last, ...} of what a transaction holds, ascending; of its regions only those that overlap `ranges` (nil: all).
function cursors.held_ranges(c, txn, held, ranges)
  local found, wanted, flat = cursors.ranges(c, held.body), nil, {}
  if ranges then
    wanted = {}
    for i = 1, #ranges, 2 do
      for _, kind in ipairs(REGIONS) do
        local from, to = math.floor(ranges[i] / kind[2]), math.floor(ranges[i + 1] / kind[2])
        for n = from, math.min(to, from + #held.regions) do wanted[kind[1] .. cursors.whole(n)] = true end
        if to - from > #held.regions then wanted = nil end -- such a long range touches nearly all of them
        if not wanted then break end
      end
      if not wanted then break end
    end
  end
  for _, n in ipairs(held.regions) do
    if not wanted or wanted[n] then
      for _, r in ipairs(cursors.ranges(c, redis.call("HGET", c.pending, txn .. "/" .. n) or "")) do found[#found + 1] = r end
    end
  end
  table.sort(found, function(a, b) return a[1] < b[1] end)
  for _, r in ipairs(found) do flat[#flat + 1], flat[#flat + 2] = r[1], r[2] end
  return flat
end

-- Adds the holes of touched leases, offsets that the transaction does not hold yet.
function cursors.hold(c, txn, held, touched)
  local parts, by_region, added, is_wide = { held.body ~= "" and held.body or nil }, {}, {}, #held.body >= BODY_BYTES
  local size = #held.body
  local function put(first, last, count)
    if not is_wide then
      parts[#parts + 1] = cursors.range_text(first, last, count)
      size = size + #parts[#parts] + 1
      is_wide = size >= BODY_BYTES
      return
    end
    local k = 1
    while REGIONS[k][2] < last - first + 1 do k = k + 1 end
    local letter, length = REGIONS[k][1], REGIONS[k][2]
    while first <= last do
      local n = math.floor(first / length)
      local name, stop = letter .. cursors.whole(n), math.min(last, n * length + length - 1)
      if not by_region[name] then by_region[name], added[#added + 1] = {}, name end
      local list = by_region[name]
      list[#list + 1] = cursors.range_text(first, stop, count)
      first = stop + 1
    end
  end

  local open = nil
  if not is_wide then -- extend the last range if the first new one continues it
    local before, first, last, count = string.match(held.body, "^(.-),?(%d+)%-(%d+)%-(%d+)$")
    if first then open, parts, size = { tonumber(first), tonumber(last), tonumber(count) }, { before ~= "" and before or nil }, #before end
  end
  for _, lease in ipairs(touched) do
    for i = 1, #lease.holes, 2 do
      if open and open[2] + 1 == lease.holes[i] and open[3] == lease.count then
        open[2] = lease.holes[i + 1]
      else
        if open then put(open[1], open[2], open[3]) end
        open = { lease.holes[i], lease.holes[i + 1], lease.count }
      end
    end
  end
  if open then put(open[1], open[2], open[3]) end

  held.body = table.concat(parts, ",")
  cursors.hold_for(c, held, touched)
  local known = {}
  for _, n in ipairs(held.regions) do known[n] = true end
  for _, n in ipairs(added) do
    local text = known[n] and redis.call("HGET", c.pending, txn .. "/" .. n)
    if not known[n] then held.regions[#held.regions + 1] = n end
    redis.call("HSET", c.pending, txn .. "/" .. n, (text and text .. "," or "R ") .. table.concat(by_region[n], ","))
  end
  holding_save(c, txn, held)
end

-- Reads, before anything is written, the queues that the release of up to `room` ranges of a transaction changes; returns
-- the number of these ranges.  Raises an error if a queue is damaged, or what the transaction holds.
function cursors.before_release(c, txn, room)
  local held, found = cursors.holding(c, txn), {}
  if not held or not cursors.has_keys(c.kind) then return 0 end
  local function look(text)
    local some = cursors.ranges(c, text)
    while #some > 0 and #found < room do found[#found + 1] = table.remove(some) end
  end
  for n = #held.regions, 1, -1 do
    if #found < room then look(redis.call("HGET", c.pending, txn .. "/" .. held.regions[n]) or "") end
  end
  look(held.body)
  cursors.read_queues(c, found)
  return #found
end

-- Removes up to `room` ranges from what a transaction holds, regions first; returns whether any are left.
function cursors.release(c, txn, held, room)
  local taken = {}
  local function take(text)
    local found = cursors.ranges(c, text)
    while #found > 0 and #taken < room do taken[#taken + 1] = table.remove(found) end
    for i, r in ipairs(found) do found[i] = cursors.range_text(r[1], r[2], r[3]) end
    return table.concat(found, ",")
  end
  while #held.regions > 0 and #taken < room do
    local field = txn .. "/" .. held.regions[#held.regions]
    local left = take(redis.call("HGET", c.pending, field) or "")
    if left ~= "" then
      redis.call("HSET", c.pending, field, "R " .. left)
    else
      redis.call("HDEL", c.pending, field)
      held.regions[#held.regions] = nil
    end
  end
  if #held.regions == 0 then held.body = take(held.body) end
  local is_left = #held.regions > 0 or held.body ~= ""
  cursors.release_for(c, held, taken, is_left)
  if is_left then holding_save(c, txn, held) else redis.call("HDEL", c.pending, txn) end
  return taken, is_left
end

-- Returns fields of other transactions: name, ranges, head; and whether these are all.
function cursors.others(c, txn)
  local found, page = {}, redis.call("HSCAN", c.pending, "0", "COUNT", LOOK_MAX)
  for i = 1, #page[2], 2 do
    local name = string.match(page[2][i], "^[^/]+")
    if name and name ~= txn then found[#found + 1] = { name, cursors.ranges(c, page[2][i + 1]), page[2][i + 1] } end
  end
  return found, page[1] == "0"
end

-- Returns the holder of an offset that is neither leased nor held by this transaction: "" if it is acknowledged, "?" if its
-- holder is not among the transactions read.
function cursors.holder(c, txn, offset)
  if cursors.acked(c, offset, offset) > 0 then return "" end
  for _, other in ipairs((cursors.others(c, txn))) do
    for _, r in ipairs(other[2]) do
      if r[1] <= offset and offset <= r[2] then return other[1] end
    end
  end
  return "?"
end
