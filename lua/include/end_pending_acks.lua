--- @include "include/cursor"
--- @include "include/group_offset"
-- Ends what transactions have pending on one subscription, be it acknowledgements or the offset of a Kafka group, on a
-- cursor the caller has read (cursors.read) and will save (settle_save).

-- Turns pending ranges into deleted offsets, or into leases without a consumer, due at once.  The count of a lease is that
-- of its last delivery: the receive that delivers it again raises it, so an aborted ack counts as one delivery.
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
end

-- Ends what one transaction ("coordinator-serial") holds here, at most `room` ranges of it.  Answers how many offsets it held,
-- which an abort gives back to be delivered, 0 for a Kafka group, to which nothing is delivered; how many ranges were ended;
-- and whether some are left for another call.
local function settle(c, txn, commit, now, room)
  if c.kind == "kafka" then
    local text = redis.call("HGET", c.pending, txn)
    if text and commit then registers.accept(c.cursor, text) end
    if text then redis.call("HDEL", c.pending, txn) end
    return 0, 0, false
  end
  local holding, held = cursors.holding(c, txn), c.held
  if not holding then return 0, 0, false end
  local ranges, is_left = cursors.release(c, txn, holding, room)
  settle_ranges(c, ranges, commit, now)
  return held - c.held, #ranges, is_left
end

-- Aborts what ended transactions have left pending: is_over(coordinator, serial) tells.  Looks at so many transactions that
-- hold acks here, so call it whenever a watermark has risen.  Answers how many offsets come back.
local LEFTOVERS_MAX = 64
local function settle_leftovers(c, is_over, now, room)
  if c.held == 0 then return 0 end
  local returned = 0
  for _, txn in ipairs(redis.call("HRANDFIELD", c.pending, LEFTOVERS_MAX)) do
    local coordinator, serial = string.match(txn, "^(%d+)%-(%d+)$")
    if coordinator and room > 0 and is_over(coordinator, serial) then
      local count, ranges = settle(c, txn, false, now, room)
      returned, room = returned + count, room - ranges
    end
  end
  return returned
end

local function settle_save(c)
  if c.kind ~= "kafka" then cursors.save(c) end -- a register is written as it is settled
end
