#!lua flags=allow-oom
--[[ delay/clear: cancel all scheduled records of a partition, except those that open transactions hold.

The whole index is deleted.  The payload is deleted with its ledgers, in which no record is pending any more.

KEYS        1 state  2 ledgers
            3 data  stream  payload of the delay ledger to open (one below the open one)
            4 delay state  5 open  6 closing  7 queue  8 live  9 parts  10 moved  11 buckets  12 next  13 snaps  14 repeats
            15 opened  open transactions of the partition  16 firsts  17 sidecar
ARGV        1 topic_id  2 delay ledger that the caller read  3 now_ms
RETURNS     {OK, records cancelled} | {LEDGER_MOVED, delay ledger} | {UNKNOWN_TOPIC}
            | {TOO_MANY, n} n: records that open transactions hold, or batches and transactions of the sidecar buffer
COMPLEXITY  O(ledgers + records and batches held, at most 5000 of each); Redis frees the rest in the background
WRITES      every key above but those of transactions; the sweep deletes the snapshots
SOURCE      requirement DD-11
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/sidecar"
--- @include "include/create_stream"
local delay = KEYS[4]
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local HELD_MAX = 5000 -- records that open transactions may hold, and batches of the sidecar buffer: each is read
local own = redis.call("HMGET", delay, "ledger", "records", "held")
if not own[1] then return { OK, 0 } end
if own[1] ~= ARGV[2] then return { LEDGER_MOVED, own[1] } end
stored.check("The counters of delayed records", { own[1], own[2] })
stored.check_counters("The counters of delayed records", delay, "held", "version", "cancelled")
if tonumber(own[3] or 0) > HELD_MAX then return { TOO_MANY, tonumber(own[3]) } end
local seen, blocks, repeats = {}, {}, {} -- held entries; the parts of blocks among them; their recurrences
local has_repeats = redis.call("HLEN", KEYS[14]) > 1
local waits = {} -- ledger → entries that open transactions hold in it
local fields = redis.call("HGETALL", delay)
for i = 1, #fields, 2 do
  if string.find(fields[i], "/", 1, true) then
    for name, ledger in string.gmatch(fields[i + 1], "%d+ (%S+) (%S+) [^|]+") do
      local entry = string.sub(name, 1, 12)
      waits[ledger] = (waits[ledger] or 0) + (seen[entry] and 0 or 1)
      if not seen[entry] then
        local number = whole(tonumber(entry))
        if #name > 12 then blocks[#blocks + 1] = { number, redis.call("HGET", KEYS[9], number) } end
        local how = has_repeats and redis.call("HGET", KEYS[14], number)
        if how then repeats[#repeats + 1] = { number, how } end
      end
      seen[entry] = true
    end
  end
end
-- The payload of the sidecar buffer is in the same ledgers, unlogged too: of open transactions, and of aborted ones until
-- ledger/release_sidecar has deleted it.
local pids = redis.call("ZREVRANGEBYSCORE", KEYS[16], "-2", "-inf", "LIMIT", "0", HELD_MAX + 1)
local aborts = redis.call("ZRANGEBYLEX", KEYS[17], "[!A ", "(!A!", "LIMIT", "0", HELD_MAX + 1)
local read = #pids + #aborts
if read > HELD_MAX then return { TOO_MANY, read } end
for _, row in ipairs(#pids > 0 and redis.call("HMGET", KEYS[15], unpack(pids)) or {}) do
  local txn = row and sidecar.parse(row)
  for ledger, count in string.gmatch(txn and txn.spread or "", "(%-%d+):(%d+)") do
    waits[ledger] = (waits[ledger] or 0) + tonumber(count)
  end
end
for _, mark in ipairs(aborts) do
  local batches = sidecar.batches(KEYS[17], string.sub(mark, 4), HELD_MAX + 1 - read)
  read = read + #batches
  if read > HELD_MAX then return { TOO_MANY, read } end
  for _, batch in ipairs(batches) do
    local ledger = string.match(batch, "^%S+ %d+ (%-%d+) ")
    waits[ledger] = (waits[ledger] or 0) + 1
  end
end
local rows, opened = redis.call("HGETALL", KEYS[2]), whole(tonumber(own[1]) - 1)

local issued, sealed = "0", {}
for i = 1, #rows, 2 do
  if string.sub(rows[i], 1, 1) == "-" then
    local row = ledger_row(rows[i + 1])
    row.sealed, row.unlogged = "1", waits[rows[i]] or 0
    if rows[i] == own[1] then issued = whole(row.issued) end
    sealed[#sealed + 1], sealed[#sealed + 2] = rows[i], ledger_text(row)
  end
end

for i = 1, #sealed, 2 do redis.call("HSET", KEYS[2], sealed[i], sealed[i + 1]) end
redis.call("HSET", KEYS[2], opened, issued .. " " .. issued .. " 0 -1 0 0 " .. ARGV[3])
create_stream(KEYS[3])
if issued ~= "0" then redis.call("XSETID", KEYS[3], "0-" .. issued) end
redis.call("UNLINK", KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[14])
for _, k in ipairs({ 8, 9, 10, 11, 14 }) do redis.call("HSET", KEYS[k], "", "") end
for _, block in ipairs(blocks) do redis.call("HSET", KEYS[9], block[1], block[2]) end
for _, each in ipairs(repeats) do redis.call("HSET", KEYS[14], each[1], each[2]) end
for _, k in ipairs({ 5, 6, 7, 12 }) do redis.call("ZADD", KEYS[k], -1, "") end
redis.call("HSET", delay, "ledger", opened, "first", opened, "open", "0", "records", "0", "entries", "0", "closing", "", "owed", "0",
  "cleared", issued)
redis.call("HINCRBY", delay, "version", "1")
redis.call("HINCRBY", delay, "cancelled", own[2])
return { OK, tonumber(own[2]) }
