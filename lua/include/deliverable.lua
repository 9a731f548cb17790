-- Finds the deliverable ranges of the log: decided data that is not of an aborted transaction, and no chunk of a large message.

-- Returns producer id → {first, last, ...} of aborted transactions that can have records from `from` to `to` (exclusive).
-- A member is "producer first stable", its score the abort marker.  If a member's stable offset, taken at its abort,
-- has reached `to`, every later abort began there or beyond (Kafka's collectAbortedTransactions stops by the same rule).
-- nil if more than `most` members have to be read: see include/aborted_checkpoints.
local function aborted_between(aborted, from, to, most)
  local found, at = {}, 0
  repeat
    local page = redis.call("ZRANGEBYSCORE", aborted, from, "+inf", "WITHSCORES", "LIMIT", at, 100)
    for i = 1, #page, 2 do
      local producer, first, stable = string.match(page[i], "^(%S+) (%d+) (%d+)$")
      if tonumber(first) < to then
        local spans = found[producer] or {}
        spans[#spans + 1], spans[#spans + 2] = tonumber(first), tonumber(page[i + 1])
        found[producer] = spans
      end
      if tonumber(stable) >= to then return found end
    end
    at = at + 100
    if at >= most and #page == 200 then return nil end
  until #page < 200
  return found
end

local function is_aborted(found, producer, base)
  local spans = found[producer] or {}
  for i = 1, #spans, 2 do
    if spans[i] <= base and base <= spans[i + 1] then return true end
  end
  return false
end

-- Calls visit(first, last, fields) for every range of offsets in [from, to), ascending: fields are those of the log entry,
-- in the order of ledger/append (values at even indexes), or nil if the range is not deliverable: a gap, a marker, an
-- aborted batch, a chunk (flag 16).  If visit returns an offset, the walk stops there.  Returns the offset reached and the number of entries
-- read, at most entries_max.  clear_to: below it any number of aborted transactions is read, above it 300 (nil: any number
-- everywhere); if there are more, the walk stops and the third result is true.
local VISITED_MAX = 300
local function each_stretch(log, aborted, from, to, entries_max, visit, clear_to)
  local at, seen = from, 0
  while at < to and seen < entries_max do
    local count = math.min(128, entries_max - seen, to - at)
    local page = redis.call("XRANGE", log, cursors.whole(at), "+", "COUNT", count)
    local found = nil
    for _, item in ipairs(page) do
      local fields = item[2]
      local base, last = tonumber(fields[6]), math.min(tonumber(string.match(item[1], "^(%d+)")), to - 1)
      if base >= to then break end
      if base > at then
        local stop = visit(at, base - 1, nil)
        if stop then return stop, seen end
        at = base
      end
      local flags = tonumber(fields[18])
      if flags % 4 >= 2 or flags % 32 >= 16 then
        fields = nil
      elseif flags % 2 == 1 then
        local upto = tonumber(string.match(page[#page][1], "^(%d+)")) + 1
        local most = (not clear_to or upto <= clear_to) and math.huge or VISITED_MAX
        found = found or aborted_between(aborted, base, upto, most)
        if not found then return at, seen, true end
        if is_aborted(found, fields[12], base) then fields = nil end
      end
      local stop = visit(at, last, fields)
      seen = seen + 1
      if stop then return stop, seen end
      at = last + 1
    end
    local tail = page[#page]
    if at < to and (#page < count or tonumber(tail[2][6]) >= to) then -- the log has nothing more before `to`
      return visit(at, to - 1, nil) or to, seen
    end
  end
  return at, seen
end
