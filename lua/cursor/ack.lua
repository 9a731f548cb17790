#!lua flags=allow-oom
--[[ cursor/ack: acknowledge offsets, singly or in ranges: all of them, or none if one is refused.

A call touches a bounded number of leases.  A longer acknowledgement is checked page by page, then acknowledged page by
page.

KEYS        1 state  2 cursor  3 acks  4 leases  5 spans  6 due  7 pending
ARGV        1 topic_id  2 consumer
            3 how   all: everything in this call, or nothing; check: validate without writing; page: one page
            4 most leases to touch  5.. first, last of each range, ascending and disjoint
RETURNS     {OK, acknowledged, mark, [reached]} reached: the last offset that was acknowledged or checked; with `all`, the
            last offset that one call can cover, and nothing was written; absent if the call covered everything
            | {NOT_LEASED, offset, consumer that has it} | {NOT_DELIVERED, offset}
            | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {WRONG_KIND, kafka}
            acknowledged includes offsets acknowledged before; offsets that a transaction holds are skipped and not counted
COMPLEXITY  O(r log l + m) for r ranges, l leases and m leases touched, plus the bitmaps (1 KiB each) that change
WRITES      only when it returns OK
SOURCE      PIP-54 "batch index acknowledgement"; docs/decisions/0004
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/cursor"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c, refused = cursors.open(KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7])
if not c then return refused end

local ranges, total = cursors.given(5)
local early = cursors.undelivered(c, ranges)
if early then return { NOT_DELIVERED, early } end
local touched, size, reached, holes
if cursors.has_keys(c.kind) then
  touched, size, reached = cursors.found_keyed(c, ranges, tonumber(ARGV[4]), ARGV[2])
  holes, refused = touched.holes, touched.refused
else
  touched, size, reached = cursors.touched(c, ranges, tonumber(ARGV[4]))
  holes = cursors.holes(touched)
  for _, lease in ipairs(touched) do
    if cursors.is_others(lease, ARGV[2]) then refused = refused or { NOT_LEASED, lease.holes[1], lease.consumer } end
  end
end
if refused then return refused end
if reached then ranges, total = cursors.upto(ranges, reached) end
if ARGV[3] == "check" or (reached and ARGV[3] == "all") then return { OK, 0, c.mark, reached } end
local pending = 0
if size < total and c.held > 0 then
  local rest = cursors.without(ranges, holes)
  for i = 1, #rest, 2 do pending = pending + rest[i + 1] - rest[i] + 1 - cursors.acked(c, rest[i], rest[i + 1]) end
end
if cursors.has_keys(c.kind) then cursors.forget_found(c, touched) else cursors.cut(c, touched) end
for i = 1, #holes, 2 do cursors.delete(c, holes[i], holes[i + 1]) end
cursors.save(c)
return { OK, total - pending, c.mark, reached }
