#!lua flags=allow-oom
--[[ delay/rotate: open the next delay ledger, and close the open bucket for sealing.

Entry numbers continue from ledger to ledger, so the number alone identifies an entry.

KEYS        1 state  2 ledgers  3 delay state  4 open  5 closing
            6 data  stream  payload of the ledger to open (one below ARGV[2])
ARGV        1 topic_id  2 delay ledger that the caller read  3 now_ms  4 close (1: the bucket too, unless one is closing)
RETURNS     {OK, delay ledger, name of the bucket that is closing ("" none)} | {UNKNOWN_TOPIC}
COMPLEXITY  O(1)
WRITES      only if ARGV[2] is still the open ledger and is not empty
SOURCE      PIP-195 "seal"; docs/decisions/0012
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
--- @include "include/create_stream"
local delay, ledger = KEYS[3], ARGV[2]
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local own = redis.call("HMGET", delay, "ledger", "first", "closing")
if own[1] ~= ledger then return { OK, own[1] or "-1", own[3] or "" } end
stored.check("The counters of delayed records", { ledger, own[2] })
stored.check_counters("The counters of delayed records", delay, "version")
local row = ledger_row(redis.call("HGET", KEYS[2], ledger))
local is_closing = ARGV[4] == "1" and own[3] == ""
if is_closing and redis.call("EXISTS", KEYS[4]) == 0 then stored.damaged("The open bucket of delayed records") end
if row.created == ARGV[3] and row.bytes == 0 then return { OK, ledger, own[3] } end
local opened = whole(tonumber(ledger) - 1)

row.sealed = "1"
local issued = whole(row.issued)
redis.call("HSET", KEYS[2], ledger, ledger_text(row), opened, issued .. " " .. issued .. " 0 -1 0 0 " .. ARGV[3])
create_stream(KEYS[6])
if row.issued > 0 then redis.call("XSETID", KEYS[6], "0-" .. issued) end
redis.call("HSET", delay, "ledger", opened)
if is_closing then
  own[3] = whole(-tonumber(own[2])) .. "-" .. whole(-tonumber(ledger))
  redis.call("RENAME", KEYS[4], KEYS[5])
  redis.call("ZADD", KEYS[4], -1, "")
  redis.call("HSET", delay, "first", opened, "open", "0", "closing", own[3])
  redis.call("HINCRBY", delay, "version", "1")
end
return { OK, opened, own[3] }
