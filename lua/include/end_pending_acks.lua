--- @include "include/cursor"
--- @include "include/group_offset"
-- Settles what transactions have pending on one subscription, acknowledgements or the offset of a Kafka group, on a cursor
-- that the caller has read (cursors.read) and saves afterwards (settle_save).

-- Turns pending ranges into acknowledged offsets, or into leases without a consumer, due at once.  A lease keeps the count
-- of its last delivery: the next receive raises it, so an aborted ack counts as one delivery.
local function settle_ranges(c, ranges, commit, now)
  table.sort(ranges, function(a, b) return a[1] < b[1] end)
  local open = nil
  for _, r in ipairs(ranges) do
    c.held = c.held - (r[2] - r[1] + 1)
    if commit then
      cursors.delete(c, r[1], r[2])
    elseif open and open[2] + 1 == r[1] and open[3] == r[3] then
      open[2] = r[2]
    else
      if open then cursors.put(c, open[1], open[2], "", open[3], now) end
      open = { r[1], r[2], r[3] }
    end
  end
  if open then cursors.put(c, open[1], open[2], "", open[3], now) end
  if not cursors.has_keys(c.kind) then return end
  for _, r in ipairs(ranges) do
    if commit then
      cursors.forget_keys(c, { r[1], r[2] })
    else
      for offset = r[1], r[2] do cursors.return_followers(c, offset, now) end
    end
  end
end

-- Settles what one transaction ("coordinator-serial") holds here, at most `room` ranges.  Returns the number of offsets it
-- held, which an abort returns for redelivery (0 for a Kafka group); the number of ranges settled; whether ranges are left
-- for another call; and when it first acknowledged, or wrote the offset: nil if it did
-- not, "?" if the time is not known.
local function settle(c, txn, commit, now, room)
  if c.kind == "kafka" then
    local text = redis.call("HGET", c.pending, txn)
    if text and commit then registers.accept(c.cursor, text) end
    if text then redis.call("HDEL", c.pending, txn) end
    return 0, 0, false, text and string.match(text, "^%S+ %S+ %S+ (%d+)")
  end
  local holding, held = cursors.holding(c, txn), c.held
  if not holding then return 0, 0, false end
  local ranges, is_left = cursors.release(c, txn, holding, room)
  settle_ranges(c, ranges, commit, now)
  return held - c.held, #ranges, is_left, holding.at or "?"
end

-- Aborts what ended transactions have left pending; is_over(coordinator, serial) is true for those.  Reads a bounded number
-- of transactions, so call it whenever a watermark has risen.  Those of which a queue is damaged stay pending: the caller has
-- written already.  Returns the number of offsets for redelivery.
local LEFTOVERS_MAX = 64
local function settle_leftovers(c, is_over, now, room)
  if c.held == 0 then return 0 end
  local returned = 0
  for _, txn in ipairs(redis.call("HRANDFIELD", c.pending, LEFTOVERS_MAX)) do
    local coordinator, serial = string.match(txn, "^(%d+)%-(%d+)$")
    local is_due = coordinator and room > 0 and is_over(coordinator, serial)
    if is_due and pcall(cursors.before_release, c, txn, room) then
      local count, ranges = settle(c, txn, false, now, room)
      returned, room = returned + count, room - ranges
    end
  end
  return returned
end

local function settle_save(c)
  if c.kind ~= "kafka" then cursors.save(c) end -- a register is written as it is settled
end
