#!lua flags=allow-oom
--[[ cursor/ack_cumulative: acknowledge everything up to an offset, for good, save what transactions hold.

KEYS        1 state  2 cursor  3 acks  4 leases  5 spans  6 due  7 pending
ARGV        1 topic_id  2 consumer  3 now_ms  4 offset (inclusive)
RETURNS     {OK, acknowledged by this call, mark} | {WRONG_KIND, kind} | {CONSUMER_BUSY, consumer, ms it has left}
            | {NOT_DELIVERED, first offset never dispatched} | {UNKNOWN_TOPIC} | {UNKNOWN_SUB}
COMPLEXITY  O(m log l) for l leases, m of them touched
WRITES      only when it returns OK
SOURCE      PIP-31 "acknowledgement"; docs/decisions/0004
]]
--- @include "include/status"
--- @include "include/cursor"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c, refused = cursors.open(KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7])
if not c then return refused end
local now, offset = tonumber(ARGV[3]), tonumber(ARGV[4])
if c.kind ~= "exclusive" then return { WRONG_KIND, c.kind } end
if c.consumer ~= ARGV[2] and c.consumer_until > now then return { CONSUMER_BUSY, c.consumer, c.consumer_until - now } end
if offset >= c.read then return { NOT_DELIVERED, c.read } end

local touched, size = {}, 0
if offset >= c.mark then touched, size = cursors.touched(c, { c.mark, offset }) end
local holes = cursors.holes(touched)
cursors.cut(c, touched)
for i = 1, #holes, 2 do cursors.delete(c, holes[i], holes[i + 1]) end
cursors.alive(c, ARGV[2], now)
cursors.save(c)
return { OK, size, c.mark }
