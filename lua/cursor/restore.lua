#!lua
--[[ cursor/restore: set a cursor to a snapshot: a mark-delete position, and acknowledged offsets beyond it.

Leases and pending acks are dropped, as by cursor/seek.  Dispatch begins at the mark and passes over what is acknowledged
up to `ahead`.

    offset   0 1 2 3 4 5 6 7 8
    acked    x x x   x x   x         mark and read 3, ahead 8: 3, 6 and 8 are delivered

A mark below the log start is raised by the next call that reads the cursor.

KEYS        1 state  2 cursor  3 acks  4 leases  5 spans  6 due  7 pending; and `none`: store/keys
ARGV        1 topic_id  2 kind  3 mark  4 ahead   the end of the acknowledged offsets; the mark if there are none
            5.. field, value of acks: include/acks
RETURNS     {OK, mark} | {BAD_OFFSET, start, next} if the snapshot is beyond the log end | {UNKNOWN_TOPIC} | {UNKNOWN_SUB}
            | {WRONG_KIND, kind}
COMPLEXITY  O(f) for f fields, at most 2048; memory is freed in the background
WRITES      only when it returns OK; the session of an exclusive consumer continues
SOURCE      Google Pub/Sub's snapshots; docs/decisions/0047, 0048
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/reset_cursor"
local state = redis.call("HMGET", KEYS[1], "topic_id", "start", "next")
if state[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local kind = redis.call("HGET", KEYS[2], "kind")
if not kind then return { UNKNOWN_SUB } end
if kind ~= ARGV[2] then return { WRONG_KIND, kind } end
if tonumber(ARGV[4]) > tonumber(state[3]) then return { BAD_OFFSET, state[2], state[3] } end

reset_cursor(ARGV[3], ARGV[4])
for i = 5, #ARGV, 4000 do redis.call("HSET", KEYS[3], unpack(ARGV, i, math.min(i + 3999, #ARGV))) end
return { OK, ARGV[3] }
