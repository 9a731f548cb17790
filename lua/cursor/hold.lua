#!lua flags=allow-oom
--[[ cursor/hold: acknowledge in a transaction: the offsets are PENDING_ACK until its end, which calls include/settle.

All of them or, when one is refused, none.  Held offsets lose their lease and keep their delivery count.

KEYS        1 state  2 ended  3 watermarks  4 cursor  5 acks  6 leases  7 spans  8 due  9 pending
ARGV        1 topic_id  2 consumer  3 coordinator  4 serial  5 cumulative (1 or 0)
            6.. first, last of each range, ascending and disjoint; or one offset (inclusive) for a cumulative ack
RETURNS     {OK, held, mark} held counts the offsets of the call, of a cumulative ack those its transaction holds now
            | {TXN_ENDED} | {TXN_CONFLICT, offset, transaction that has it or "" when acknowledged}
            | {NOT_LEASED, offset, consumer that has it} | {NOT_DELIVERED, offset} | {WRONG_KIND, kind}
            | {UNKNOWN_TOPIC} | {UNKNOWN_SUB}
COMPLEXITY  O(r log l + m) for r ranges, l leases, m of them touched; a cumulative ack reads all pending acks
WRITES      only when it returns OK; a repetition in the same transaction changes nothing
SOURCE      PIP-31 "acknowledgement"; requirements AK-05 to AK-16; docs/decisions/0004
]]
--- @include "include/status"
--- @include "include/serial"
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

local ranges, total, text = nil, 0, redis.call("HGET", c.pending, txn)
local head = text and cursors.pending_head(text) or "I "
if cumulative then
  local offset = tonumber(ARGV[6])
  if c.kind ~= "exclusive" then return { WRONG_KIND, c.kind } end
  if offset >= c.read then return { NOT_DELIVERED, c.read } end
  local upto = string.match(head, "^C (%d+) ")
  if tonumber(upto) == offset then -- a repetition, answered as the first time
    return { OK, select(2, cursors.without(cursors.pending_ranges(c, text), {})), c.mark }
  end
  if upto and offset <= tonumber(upto) then return { TXN_CONFLICT, offset, txn } end
  if offset < c.mark then return { TXN_CONFLICT, offset, "" } end
  local all = c.held > 0 and redis.call("HGETALL", c.pending) or {}
  for i = 1, #all, 2 do
    if all[i] ~= "" and all[i] ~= txn then
      local first = cursors.ranges(all[i + 1])[1][1]
      if first <= offset or string.sub(all[i + 1], 1, 1) == "C" then return { TXN_CONFLICT, math.min(first, offset), all[i] } end
    end
  end
  ranges, head = { c.mark, offset }, "C " .. ARGV[6] .. " - "
else
  ranges, total = cursors.given(6)
  local early = cursors.undelivered(c, ranges)
  if early then return { NOT_DELIVERED, early } end
end

local touched, size = cursors.touched(c, ranges)
if cumulative then
  local unconfirmed = cursors.unconfirmed(c, touched, consumer)
  if unconfirmed then return unconfirmed end
else
  for _, lease in ipairs(touched) do
    if cursors.is_others(lease, consumer) then return { NOT_LEASED, lease.holes[1], lease.consumer } end
  end
  if size < total then -- the rest must be held by this very transaction
    local rest = cursors.without(ranges, cursors.holes(touched))
    if text then rest = cursors.without(rest, cursors.pending_ranges(c, text)) end
    if rest[1] then
      local all = c.held > 0 and redis.call("HGETALL", c.pending) or {}
      for i = 1, #all, 2 do
        for _, r in ipairs(all[i] == "" and {} or cursors.ranges(all[i + 1])) do
          if r[1] <= rest[1] and rest[1] <= r[2] then return { TXN_CONFLICT, rest[1], all[i] } end
        end
      end
      return { TXN_CONFLICT, rest[1], "" }
    end
  end
end

-- New ranges go behind the old ones; the last old one grows when the first new one continues it.
local body = text and string.match(text, "(%S*)$") or ""
local parts, open = {}, nil
local before, first, last, count = string.match(body, "^(.-),?(%d+)%-(%d+)%-(%d+)$")
if first then
  open = { tonumber(first), tonumber(last), tonumber(count) }
  if before ~= "" then parts[1] = before end
end
for _, lease in ipairs(touched) do
  for i = 1, #lease.holes, 2 do
    if open and open[2] + 1 == lease.holes[i] and open[3] == lease.count then
      open[2] = lease.holes[i + 1]
    else
      if open then parts[#parts + 1] = cursors.range_text(open[1], open[2], open[3]) end
      open = { lease.holes[i], lease.holes[i + 1], lease.count }
    end
  end
end
if open then parts[#parts + 1] = cursors.range_text(open[1], open[2], open[3]) end
text = head .. table.concat(parts, ",")
cursors.cut(c, touched)
c.held = c.held + size
redis.call("HSET", c.pending, txn, text)
cursors.save(c)
if cumulative then total = select(2, cursors.without(cursors.pending_ranges(c, text), {})) end
return { OK, total, c.mark }
