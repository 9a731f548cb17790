#!lua flags=allow-oom
--[[ cursor/ack_cumulative: acknowledge everything up to an offset, except what transactions hold.

It is refused if it covers an offset that was not delivered to this consumer.

KEYS        1 state  2 cursor  3 acks  4 leases  5 spans  6 due  7 pending
ARGV        1 topic_id  2 consumer  3 offset (inclusive)  4 how  5 most leases to touch (both as cursor/ack has them)
            6 from   first offset; below the mark means the mark
RETURNS     {OK, acknowledged by this call, mark, [reached, as in cursor/ack]} | {WRONG_KIND, kind}
            | {NOT_LEASED, offset, consumer that has it} | {UNKNOWN_TOPIC} | {UNKNOWN_SUB}
            | {NOT_DELIVERED, first offset that was not delivered to this consumer}
COMPLEXITY  O(m log l) for l leases, m of them touched
WRITES      only when it returns OK
SOURCE      PIP-31 "acknowledgement"; docs/decisions/0004
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/cursor"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c, refused = cursors.open(KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7])
if not c then return refused end
local offset = tonumber(ARGV[3])
if not cursors.is_ordered(c.kind) then return { WRONG_KIND, c.kind } end
if offset >= c.read then return { NOT_DELIVERED, c.read } end

local touched, size, reached = {}, 0, nil
local from = math.max(c.mark, tonumber(ARGV[6]))
if offset >= from then touched, size, reached = cursors.touched(c, { from, offset }, tonumber(ARGV[5])) end
local unconfirmed = cursors.unconfirmed(c, touched, ARGV[2])
if unconfirmed then return unconfirmed end
if ARGV[4] == "check" or (reached and ARGV[4] == "all") then return { OK, 0, c.mark, reached } end
local holes = cursors.holes(touched)
cursors.cut(c, touched)
for i = 1, #holes, 2 do cursors.delete(c, holes[i], holes[i + 1]) end
cursors.save(c)
return { OK, size, c.mark, reached }
