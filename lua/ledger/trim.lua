#!lua flags=allow-oom
--[[ ledger/trim: move the log start past what retention no longer keeps, and say which ledgers may go.

Undecided records are never trimmed.  The order is: log start first, then the log, then (ledger/drop) the payload, so
payload missing below the start is out of range and above it is corruption.

KEYS        1 state  2 ledgers  3 log  4 aborted
ARGV        1 topic_id  2 drop entries appended before this time, ms (-1 none)  3 payload bytes to keep (-1 all)
            4 delete everything below this offset (-1 no; DeleteRecords)  5 most log entries to look at
RETURNS     {OK, log start, entries trimmed, ledger ...} ledgers that nothing refers to any more | {UNKNOWN_TOPIC}
COMPLEXITY  O(entries trimmed + ledgers)
WRITES      log start, log, aborted set, byte count
SOURCE      Kafka retention.ms, retention.bytes, KIP-107
]]
--- @include "include/status"
--- @include "include/partition"
local held = redis.call("HMGET", KEYS[1], "topic_id", "start", "stable", "bytes")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local start, stable, kept = tonumber(held[2]), tonumber(held[3]), tonumber(held[4])
local before, bytes_max, below = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local new_start, trimmed = start, 0
local items = redis.call("XRANGE", KEYS[3], "-", "+", "COUNT", ARGV[5])
local reached = #items < tonumber(ARGV[5]) -- everything that may go was looked at
for _, item in ipairs(items) do
  local last = tonumber(string.match(item[1], "^(%d+)"))
  local fields = item[2] -- l ledger e entry b base n records s bytes p v q f t time
  local old = tonumber(fields[20]) < before or (bytes_max >= 0 and kept > bytes_max) or last < below
  if last >= stable or not old then
    reached = true
    break
  end
  new_start, trimmed, kept = last + 1, trimmed + 1, kept - tonumber(fields[10])
end
if reached and below > new_start and below <= stable then new_start = below end
local rows, droppable = redis.call("HGETALL", KEYS[2]), {}
for i = 1, #rows, 2 do
  local row = ledger_row(rows[i + 1])
  if row.sealed == "1" and row.unlogged == 0 and row.max < new_start then droppable[#droppable + 1] = rows[i] end
end

if new_start > start then
  redis.call("HSET", KEYS[1], "start", whole(new_start), "bytes", whole(math.max(kept, 0)))
  redis.call("XTRIM", KEYS[3], "MINID", whole(new_start) .. "-0")
  redis.call("ZREMRANGEBYSCORE", KEYS[4], 0, new_start - 1)
end
return { OK, whole(new_start), trimmed, unpack(droppable) }
