#!lua flags=allow-oom
--[[ cursor/pending_ack: acknowledge in a transaction: the offsets are PENDING_ACK until it ends (include/end_pending_acks).

All offsets, or none if one is refused.  Held offsets lose their lease and keep their delivery count.

KEYS        1 state  2 ended  3 watermarks  4 cursor  5 acks  6 leases  7 spans  8 due  9 pending
ARGV        1 topic_id  2 consumer  3 coordinator  4 serial  5 cumulative (1 or 0)
            6 how  7 most leases to touch (both as in cursor/ack)  8 now_ms
            9.. first, last of each range, ascending and disjoint; for a cumulative ack its offset (inclusive) and the
            first offset, where one below the mark means the mark
RETURNS     {OK, held, mark, [reached]} held: the offsets of the call; for a cumulative ack all that the transaction holds;
            reached as in cursor/ack
            | {TXN_ENDED} | {TXN_CONFLICT, offset, transaction that holds it, "" if acknowledged, "?" if not found}
            | {NOT_LEASED, offset, consumer that has it} | {NOT_DELIVERED, offset} | {WRONG_KIND, kind}
            | {UNKNOWN_TOPIC} | {UNKNOWN_SUB}
COMPLEXITY  O(r log l + m) for r ranges, l leases, m of them touched, plus the transaction's ranges in the regions touched;
            a cumulative ack also reads the bitmaps from the mark on if very many transactions hold offsets
WRITES      only when it returns OK; a retry in the same transaction changes nothing
SOURCE      PIP-31 "acknowledgement"; requirements AK-05 to AK-16; docs/decisions/0004
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/serial_order"
--- @include "include/cursor"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c, refused = cursors.open(KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9])
if not c then return refused end
local consumer, coordinator, serial, cumulative = ARGV[2], ARGV[3], ARGV[4], ARGV[5] == "1"
local txn = coordinator .. "-" .. serial
local watermark = redis.call("HGET", KEYS[3], coordinator)
if redis.call("ZSCORE", KEYS[2], txn) or (watermark and watermark ~= "" and serial_at_most(serial, watermark)) then
  return { TXN_ENDED }
end

local ranges, total, from, held = nil, 0, nil, cursors.holding(c, txn)
local fresh = { body = "", head = "I", regions = {}, at = ARGV[8] }

-- Returns the number of offsets that the transaction holds; with regions, up to `upto` all that are not acknowledged.
local function held_by_it()
  if not held.upto or #held.regions == 0 then
    return select(2, cursors.without(cursors.held_ranges(c, txn, held), {}))
  end
  local size, beyond = 0, cursors.held_ranges(c, txn, held, { held.upto + 1, c.read - 1 })
  if held.upto >= c.mark then size = held.upto - c.mark + 1 - cursors.acked(c, c.mark, held.upto) end
  for i = 1, #beyond, 2 do size = size + math.max(beyond[i + 1] - math.max(beyond[i], held.upto + 1) + 1, 0) end
  return size
end

if cumulative then
  local offset, begin = tonumber(ARGV[9]), tonumber(ARGV[9 + 1])
  if not cursors.is_ordered(c.kind) then return { WRONG_KIND, c.kind } end
  if offset >= c.read then return { NOT_DELIVERED, c.read } end
  local upto = held and held.upto
  if upto == offset then return { OK, held_by_it(), c.mark } end -- a retry gets the first reply
  if upto and offset <= upto then return { TXN_CONFLICT, offset, txn } end
  if offset < c.mark then return { TXN_CONFLICT, offset, "" } end
  from = math.max(c.mark, begin, (upto or -1) + 1) -- no leases remain up to `upto`
  ranges = { from, offset }
  if c.held > 0 then
    local others = cursors.others(c, txn)
    for _, other in ipairs(others) do
      local first = other[2][1] and other[2][1][1]
      if first and (first <= offset or string.sub(other[3], 1, 1) == "C") then
        return { TXN_CONFLICT, math.min(first, offset), other[1] }
      end
    end
  end
else
  ranges, total = cursors.given(9)
  local early = cursors.undelivered(c, ranges)
  if early then return { NOT_DELIVERED, early } end
end

local touched, size, reached = cursors.touched(c, ranges, tonumber(ARGV[7]))
if reached then ranges, total = cursors.upto(ranges, reached) end
if cumulative then
  local unconfirmed = cursors.unconfirmed(c, touched, consumer)
  if unconfirmed then return unconfirmed end
  local last = ranges[2]
  if c.held > 0 and last and not select(2, cursors.others(c, txn)) then -- more transactions than others() reads
    local mine = 0
    for _, r in ipairs(held and { cursors.held_ranges(c, txn, held, ranges) } or {}) do
      for i = 1, #r, 2 do mine = mine + math.max(math.min(r[i + 1], last) - math.max(r[i], from) + 1, 0) end
    end
    if last - from + 1 > size + mine + cursors.acked(c, from, last) then return { TXN_CONFLICT, last, "?" } end
  end
else
  for _, lease in ipairs(touched) do
    if cursors.is_others(lease, consumer) then return { NOT_LEASED, lease.holes[1], lease.consumer } end
  end
  if size < total then -- the rest must be held by this transaction
    local rest = cursors.without(ranges, cursors.holes(touched))
    if held then rest = cursors.without(rest, cursors.held_ranges(c, txn, held, rest)) end
    if rest[1] then return { TXN_CONFLICT, rest[1], cursors.holder(c, txn, rest[1]) } end
  end
end
if ARGV[6] == "check" or (reached and ARGV[6] == "all") then return { OK, 0, c.mark, reached } end

held = held or fresh
if cumulative then held.head, held.upto = "C " .. cursors.whole(ranges[2] or from - 1), ranges[2] end
cursors.cut(c, touched)
c.held = c.held + size
cursors.hold(c, txn, held, touched)
cursors.save(c)
if cumulative then total = held_by_it() end
return { OK, total, c.mark, reached }
