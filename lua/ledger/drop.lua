#!lua flags=allow-oom
--[[ ledger/drop: unlink one sealed ledger whose payload is not referenced any more.

KEYS        1 state  2 ledgers  3 data  stream  the ledger named in ARGV[2]
ARGV        1 topic_id  2 ledger
RETURNS     {OK, dropped 0 or 1, bytes of its payload} | {UNKNOWN_TOPIC}
COMPLEXITY  O(1); Redis frees the payload in the background
WRITES      only if the ledger is sealed, has no unlogged entry and ends below the log start or below `cold`
SOURCE      Pulsar "managed ledger trimming"
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
local held = redis.call("HMGET", KEYS[1], "topic_id", "start", "cold")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local text = redis.call("HGET", KEYS[2], ARGV[2])
if not text then return { OK, 0, 0 } end
local row = ledger_row(text)
if not is_spent(row, tonumber(held[2]), held[3]) then return { OK, 0, 0 } end

redis.call("UNLINK", KEYS[3])
redis.call("HDEL", KEYS[2], ARGV[2])
return { OK, 1, row.bytes }
