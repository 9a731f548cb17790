#!lua flags=allow-oom
--[[ ledger/roll: seal the active ledger and open the next one.

KEYS        1 state  2 ledgers  3 log  4 data  stream  payload of the ledger to open (active + 1)
ARGV        1 topic_id  2 active ledger that the caller read  3 now_ms
RETURNS     {OK, active ledger} | {UNKNOWN_TOPIC}
COMPLEXITY  O(1)
WRITES      only if ARGV[2] is still the active ledger; a retry changes nothing
SOURCE      Pulsar "ledger rollover"; docs/decisions/0002
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
--- @include "include/create_stream"
local held = redis.call("HMGET", KEYS[1], "topic_id", "ledger")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
if held[2] ~= ARGV[2] then return { OK, held[2] } end
local row = ledger_row(redis.call("HGET", KEYS[2], ARGV[2]))
local opened = whole(tonumber(ARGV[2]) + 1)

row.sealed = "1"
redis.call("HSET", KEYS[2], ARGV[2], ledger_text(row), opened, "0 0 0 -1 0 0 " .. ARGV[3])
create_stream(KEYS[4])
redis.call("HSET", KEYS[1], "ledger", opened)
return { OK, opened }
