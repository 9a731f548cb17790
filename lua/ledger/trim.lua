#!lua flags=allow-oom
--[[ ledger/trim: apply retention: advance the log start, and return the ledgers that can be dropped.

Undecided records are never trimmed.  The log start advances first, then the log is trimmed, then ledger/drop deletes the
payload.  So missing payload is out of range below the start, is in Parquet below `cold`, and is corruption above both.

    offset   0    1    2    3    4    5    6    7    8
             too old            young            open transaction
                       ^ mark of the slowest subscription              ^ stable
    start              2 if only acknowledged records are trimmed, else 4; DeleteRecords ignores acknowledgements

KEYS        1 state  2 ledgers  3 log  4 aborted  5 subs  6 sidecar
            7.. the cursors of the subscriptions in ARGV
ARGV        1 topic_id  2 drop entries appended before this time, ms (-1 none)  3 payload bytes to keep (-1 all)
            4 delete everything below this offset (-1 no; DeleteRecords)  5 most log entries to read
            6 acknowledged (1: time and bytes trim only what every subscription has acknowledged, Kafka groups excepted)
            7.. two for each cursor: its subscription (percent-encoded), and its creation time if it is left from a
            deleted subscription and does not count ("" it counts)
RETURNS     {OK, log start, entries trimmed, ledger in which the log now begins ("" the start has not moved), ledger ...}
            the other ledgers are those that can be dropped | {UNKNOWN_TOPIC}
            | {STALE, subscription ...} a subscription that counts was not in ARGV: the current subscriptions
COMPLEXITY  O(entries trimmed + ledgers + subscriptions), and at most ARGV[5] entries that no subscription needs
WRITES      log start, log, aborted set, byte count; names trimmed transactions in the sidecar
SOURCE      Kafka retention.ms, retention.bytes, KIP-107; Pulsar "message retention" (acknowledged)
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
--- @include "include/cursor"
--- @include "include/deliverable"
--- @include "include/aborted_checkpoints"
local PAGE = 64
local held = redis.call("HMGET", KEYS[1], "topic_id", "start", "stable", "bytes", "cold", "aborts")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local start, stable, kept = tonumber(held[2]), tonumber(held[3]), tonumber(held[4])
local before, bytes_max, below = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local needed = stable -- first offset that some subscription has not acknowledged
if ARGV[6] == "1" then
  local named, subs, names, is_known = {}, redis.call("HGETALL", KEYS[5]), { STALE }, true
  for i = 7, #ARGV, 2 do named[ARGV[i]] = { KEYS[7 + (i - 7) / 2], ARGV[i + 1] } end
  for i = 1, #subs, 2 do
    if subs[i] ~= "" and subs[i + 1] ~= "kafka" then
      local cursor = named[subs[i]]
      names[#names + 1] = subs[i]
      if cursor then
        local at = redis.call("HMGET", cursor[1], "mark", "created")
        if at[2] ~= cursor[2] then needed = math.min(needed, tonumber(at[1])) end
      else
        is_known = false
      end
    end
  end
  if not is_known then return names end
  if needed < stable then -- markers and aborted records after it are not needed by any subscription
    needed = each_stretch(KEYS[3], KEYS[4], math.max(needed, start), stable, tonumber(ARGV[5]), function(first, _, fields)
      if fields then return first end
    end, checkpoints.read(held[6]))
  end
end

local in_sidecar = {} -- transactions that are trimmed
local new_start, trimmed, looked, most, from, reached = start, 0, 0, tonumber(ARGV[5]), "-", false
while not reached and looked < most do
  local count = math.min(PAGE, most - looked)
  local items = redis.call("XRANGE", KEYS[3], from, "+", "COUNT", whole(count))
  looked, reached = looked + #items, #items < count -- reached: everything that may be trimmed was read
  for _, item in ipairs(items) do
    local last = tonumber(string.match(item[1], "^(%d+)"))
    local fields = item[2] -- l ledger e entry b base n records s bytes p v q f t time
    local is_surplus = tonumber(fields[20]) < before or (bytes_max >= 0 and kept > bytes_max)
    if last >= stable or not (last < below or (is_surplus and last < needed)) then
      reached = true
      break
    end
    new_start, trimmed, kept = last + 1, trimmed + 1, kept - tonumber(fields[10])
    if tonumber(fields[18]) >= 32 and tonumber(fields[2]) >= 0 then in_sidecar[#in_sidecar + 1] = fields[2] .. "-" .. fields[4] end
    from = "(" .. item[1]
  end
end
if reached and below > new_start and below <= stable then new_start = below end
local reply, rows, begins = { OK, whole(new_start), trimmed, "" }, redis.call("HGETALL", KEYS[2]), nil
for i = 1, #rows, 2 do
  local sealed, max, unlogged = string.match(rows[i + 1], "^%d+ %d+ (%d) (%-?%d+) (%d+)") -- only the fields needed, since rows can be many
  if is_spent({ sealed = sealed, max = tonumber(max), unlogged = tonumber(unlogged) }, new_start, held[5]) then
    reply[#reply + 1] = rows[i]
  elseif tonumber(rows[i]) > 0 then
    begins = math.min(begins or math.huge, tonumber(rows[i]))
  end
end
if new_start > start and begins then reply[4] = whole(begins) end

if new_start > start then
  redis.call("HSET", KEYS[1], "start", whole(new_start), "bytes", whole(math.max(kept, 0)))
  redis.call("XTRIM", KEYS[3], "MINID", whole(new_start) .. "-0")
  redis.call("ZREMRANGEBYSCORE", KEYS[4], 0, new_start - 1)
  for _, name in ipairs(in_sidecar) do redis.call("ZADD", KEYS[6], "0", "!T " .. name) end
end
return reply
