#!lua flags=allow-oom
--[[ ledger/cut: delete the payload of one ledger below the log start, and keep the ledger.

    entry    1    2    3    4    5        start is 12: the log begins with entry 3 of this ledger, and entries are logged
    offset   10   11   12   13   14       in the order of their numbers, so 1 and 2 are deleted
                       ^ start

Only for ledgers with positive numbers: those with negative numbers hold scheduled records, which become visible in order
of due time.  Removed entries count as deleted, so `issued - deleted` remains the number of entries.

KEYS        1 state  2 ledgers  3 log
            4 data  stream  the ledger named in ARGV[2]
ARGV        1 topic_id  2 ledger  3 most entries to remove
RETURNS     {OK, entries removed} | {UNKNOWN_TOPIC}
COMPLEXITY  O(entries removed), and 64 log entries read
WRITES      the ledger's payload and its row
SOURCE      docs/decisions/0002; Kafka KIP-107
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
local LOOKED = 64
local held = redis.call("HMGET", KEYS[1], "topic_id", "start")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local text = redis.call("HGET", KEYS[2], ARGV[2])
local row = text and ledger_row(text)
if not row or tonumber(ARGV[2]) <= 0 or row.unlogged > 0 then return { OK, 0 } end

local first -- first entry that is still needed
local items = redis.call("XRANGE", KEYS[3], held[2] .. "-0", "+", "COUNT", LOOKED)
for _, item in ipairs(items) do
  local fields = item[2] -- l ledger e entry b base n records s bytes p producer v epoch q sequence f flags
  local ledger = tonumber(fields[18]) < 32 and tonumber(fields[2]) or 0 -- 32: in the sidecar buffer, not here
  if ledger == tonumber(ARGV[2]) then first = tonumber(fields[4]) end
  if ledger > tonumber(ARGV[2]) then first = row.issued + 1 end
  if first then break end
end
if not first and #items < LOOKED then first = row.issued + 1 end
if not first then return { OK, 0 } end

-- Whole nodes first, which frees their memory.  Entries of the last node are only marked.
local removed = redis.call("XTRIM", KEYS[4], "MINID", "~", "0-" .. whole(first), "LIMIT", ARGV[3])
if 2 * removed < tonumber(ARGV[3]) then
  removed = removed + redis.call("XTRIM", KEYS[4], "MINID", "0-" .. whole(first))
end
if removed > 0 then
  row.deleted = row.deleted + removed
  redis.call("HSET", KEYS[2], ARGV[2], ledger_text(row))
end
return { OK, removed }
