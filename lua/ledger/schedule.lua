#!lua
--[[ ledger/schedule: accept batches with records that are due later, or delete their payload entries again.

The preceding XADDs wrote the records due later to the delay ledger and those due now to the active ledger, in one MULTI
with this call, as for ledger/append.  An original batch is accepted or refused as a whole: its sequence is checked once.
In the sidecar buffer the records due now are in the delay ledger too, before the others of their batch.
Records due later go into the open bucket; those of a transaction are set aside until its end.

KEYS        1 state  2 ledgers  3 log  4 producers  5 open  6 firsts  7 ended  8 watermarks
            9 data   stream   the ledger named in ARGV[2]
            10 delay data  stream  the ledger named in ARGV[3]
            11 delay state  12 delay open  13 delay live  14 delay closing  15 delay queue  16 delay parts  17 delay moved
            18 delay buckets  19 delay next  20 delay snaps  21 delay repeats  22 sidecar
ARGV        1 topic_id  2 ledger  3 delay ledger (-1, -2, ...)  4 now_ms
            5 channel to publish to (leader epoch, next offset, stable offset)  6 number of originals
            7.. the originals: records  producer_id (-1 none)  epoch  sequence (-1 none)  coordinator  serial ("" none)
            verified  now (records that are due now, 0 none)  bytes and newest timestamp of these  later (number of entries)
            records  bytes  blocks (numbers of all these entries)  owner of the producer id ("" not compared)  aside (1: the
            records due now belong to the sidecar buffer), and for each entry due_ms (for a block, whose records have separate due times: all of them, with commas) and, as one text,
            the rest of its member: ledger records bytes newest_ms
RETURNS     {OK, leader_epoch, ledger_bytes, ledger_created_ms, delay_ledger_bytes, delay_ledger_created_ms, entries of the
            open bucket, reply ...} one reply for each original: {OK, base_offset (-1 none), first entry}
            | {DUPLICATE, base_offset, or -e-1 if it has none and e is its first entry}
            | a refusal of ledger/append; or, for all of them,
            {LEDGER_MOVED, active ledger, delay ledger} | {HEALED} | {UNKNOWN_TOPIC}
COMPLEXITY  O(n log m) for n entries and m in the open bucket
WRITES      log entries, index entries, live bits and counters of accepted batches; deletes the payload of refused ones
SOURCE      PIP-195; KIP-98; docs/decisions/0012
]]
--- @include "include/status"
--- @include "include/serial_order"
--- @include "include/partition"
--- @include "include/producers"
--- @include "include/create_stream"
--- @include "include/first_scheduled"
--- @include "include/sidecar_append"
--- @include "include/live_bitmap"
--- @include "include/scheduled_entries"
local state, ledgers, data, delay_data, delay = KEYS[1], KEYS[2], KEYS[9], KEYS[10], KEYS[11]
local held = redis.call("HMGET", state, "topic_id", "ledger", "next", "stable", "epoch", "newest", "bytes")
local texts = redis.call("HMGET", ledgers, ARGV[2], ARGV[3])
if not held[1] or (not texts[1] and held[1] ~= ARGV[1]) then return { UNKNOWN_TOPIC } end
local own = redis.call("HMGET", delay, "ledger", "first", "open")

local originals, now_count, later_count, at = {}, 0, 0, 7
for i = 1, tonumber(ARGV[6]) do
  local later = tonumber(ARGV[at + 10])
  local o = { at = at, now = tonumber(ARGV[at + 7]), later = later, is_aside = ARGV[at + 15] == "1" }
  originals[i] = o
  if o.now > 0 and not o.is_aside then now_count = now_count + 1 end
  later_count, at = later_count + later + (o.now > 0 and o.is_aside and 1 or 0), at + 16 + 2 * later
end
local row, late = texts[1] and ledger_row(texts[1]), texts[2] and ledger_row(texts[2])

-- The payload that is deleted has to be there: heal raises otherwise, perhaps after it has corrected the other ledger.
local function check_payload()
  local is_lost = row and redis.call("EXISTS", data) == 0 or late and redis.call("EXISTS", delay_data) == 0
  if is_lost then stored.damaged("The payload of the partition") end
end

local function refuse_all(...)
  check_payload()
  if row then heal(data, ledgers, ARGV[2], row) end
  if late then heal(delay_data, ledgers, ARGV[3], late) end
  return { ... }
end

if held[1] ~= ARGV[1] then return refuse_all(UNKNOWN_TOPIC) end
if not own[1] then -- the first scheduled record here
  check_payload()
  if ARGV[3] == "-1" and not late then create_delay_index(ledgers, ARGV[4]) end
  return refuse_all(LEDGER_MOVED, held[2], "-1")
end
if not row or not late or held[2] ~= ARGV[2] or own[1] ~= ARGV[3] or row.sealed == "1" then
  return refuse_all(LEDGER_MOVED, held[2], own[1])
end
if redis.call("XLEN", data) - (row.issued - row.deleted) ~= now_count
  or redis.call("XLEN", delay_data) - (late.issued - late.deleted) ~= later_count then
  return refuse_all(HEALED)
end

stored.check("The state of the partition", { held[3], held[4], held[5], held[6], held[7] or "0", own[3] })
stored.check_counters("The counters of delayed records", delay, "entries", "records", "held")
-- Returns the batches that a transaction has set aside here; such a transaction counts as open until it has ended.
local aside = {}
local function aside_of(txn)
  if aside[txn] == nil then
    local text = redis.call("HGET", delay, txn)
    local mark, chunks, left, records = string.match(text or "", "^(%a) (%d+) (%d+) (%d+)$")
    aside[txn] = mark == "O" and { tonumber(chunks), tonumber(left), tonumber(records) } or mark ~= nil and "ended"
  end
  return aside[txn]
end

live.open(KEYS[13])
local next_offset, nothing_open, newest = tonumber(held[3]), held[3] == held[4], tonumber(held[6])
local entry, delay_entry, bytes, delay_bytes, waiting = row.issued, late.issued, 0, 0, 0
local answers, logged, removed, delay_removed, opened, members, chunks, blocks = {}, {}, {}, {}, {}, {}, {}, {}
local live_entries, live_records, held_records = 0, 0, 0
for i, o in ipairs(originals) do
  local a = o.at
  local records, pid, epoch, sequence = tonumber(ARGV[a]), ARGV[a + 1], tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
  local serial, counted = ARGV[a + 5], pid ~= "-1" and tonumber(ARGV[a + 3]) >= 0
  local txn = ARGV[a + 4] .. "-" .. serial
  local refusal = counted and refusal_by_sequence(pid, epoch, sequence, records, ARGV[a + 14], ARGV[4]) or nil
  if not refusal and serial ~= "" then
    if aside_of(txn) == "ended" then
      refusal = { TXN_ENDED }
    elseif o.now > 0 or not aside_of(txn) then
      local is_aside = nil -- records due later are in neither buffer
      if o.now > 0 then is_aside = o.is_aside end
      refusal = refusal_by_fence(pid, ARGV[a + 4], serial, ARGV[a + 6], is_aside)
    end
  end
  if refusal then
    answers[i] = refusal
    if o.now > 0 and not o.is_aside then
      entry = entry + 1
      removed[#removed + 1] = "0-" .. whole(entry)
    end
    for _ = 1, o.later + (o.now > 0 and o.is_aside and 1 or 0) do
      delay_entry = delay_entry + 1
      delay_removed[#delay_removed + 1] = "0-" .. whole(delay_entry)
    end
  else
    local base = "-1"
    if o.now > 0 and o.is_aside then
      delay_entry, waiting, delay_bytes = delay_entry + 1, waiting + 1, delay_bytes + tonumber(ARGV[a + 8])
      sidecar.take(pid, ARGV[a + 2], ARGV[a + 4], serial, held[3], {
        ledger = ARGV[3], entry = delay_entry, records = o.now, bytes = tonumber(ARGV[a + 8]), newest = tonumber(ARGV[a + 9]),
        flags = "0",
      })
    elseif o.now > 0 then
      base, entry = whole(next_offset), entry + 1
      if serial ~= "" and not opens[pid] then
        opens[pid] = ARGV[a + 4] .. " " .. serial
        opened[#opened + 1] = { pid, ARGV[a + 2] .. " " .. opens[pid] .. " " .. base, base }
      end
      next_offset = next_offset + o.now
      newest = math.max(newest, tonumber(ARGV[a + 9]))
      logged[#logged + 1] = { a, whole(entry), base, whole(next_offset - 1), whole(newest) }
      bytes = bytes + tonumber(ARGV[a + 8])
    end
    -- A batch without an offset is stored by its first entry e, as -e-1.
    if counted then window_take(pid, epoch, sequence, records, base ~= "-1" and base or whole(-delay_entry - 2), ARGV[a + 14]) end
    answers[i] = { OK, base, delay_entry + 1 }
    local first, held_texts, held_here = delay_entry + 1, {}, 0
    local is_plain, count = serial == "" and ARGV[a + 13] == "0", #members
    for j = 1, o.later do
      local due, rest = ARGV[a + 14 + 2 * j], ARGV[a + 15 + 2 * j]
      delay_entry = delay_entry + 1
      if is_plain then
        members[count + 1], members[count + 2] = due, string.format("%012d ", delay_entry) .. rest
        count = count + 2
      else
        if string.find(due, ",", 1, true) then
          blocks[#blocks + 1] = { whole(delay_entry), string.rep("b", tonumber(string.match(rest, "^%S+ (%d+)"))) }
        end
        members_of(delay_entry, due, rest, function(one, member)
          if serial ~= "" then
            held_texts[#held_texts + 1] = one .. " " .. member
          else
            members[count + 1], members[count + 2] = one, member
            count = count + 2
          end
        end)
      end
    end
    delay_bytes = delay_bytes + tonumber(ARGV[a + 12])
    if serial == "" then
      live_records = live_records + tonumber(ARGV[a + 11])
    else
      held_here = tonumber(ARGV[a + 11])
    end
    if o.later > 0 and serial == "" then
      live.fill(first, delay_entry)
      live_entries = live_entries + o.later
    elseif o.later > 0 then
      local mine = aside_of(txn) or { 0, 0, 0 }
      aside[txn] = mine
      mine[1], mine[2], mine[3], mine.is_new = mine[1] + 1, mine[2] + 1, mine[3] + held_here, true
      held_records = held_records + held_here
      chunks[#chunks + 1] = { txn .. "/" .. whole(mine[1]), table.concat(held_texts, "|") }
    end
    waiting = waiting + o.later
  end
end

for _, g in ipairs(logged) do
  local a = g[1]
  redis.call("XADD", KEYS[3], g[4] .. "-1", "l", ARGV[2], "e", g[2], "b", g[3], "n", ARGV[a + 7], "s", ARGV[a + 8],
    "p", ARGV[a + 1], "v", ARGV[a + 2], "q", ARGV[a + 3], "f", ARGV[a + 5] == "" and "0" or "1", "t", ARGV[4], "m", g[5])
end
for _, id in ipairs(removed) do redis.call("XDEL", data, id) end
for _, id in ipairs(delay_removed) do redis.call("XDEL", delay_data, id) end
if now_count > 0 then
  row.issued, row.deleted, row.bytes = entry, row.deleted + #removed, row.bytes + bytes
  if #logged > 0 then row.max = next_offset - 1 end
  redis.call("HSET", ledgers, ARGV[2], ledger_text(row))
end
late.issued, late.deleted, late.bytes = delay_entry, late.deleted + #delay_removed, late.bytes + delay_bytes
late.unlogged = late.unlogged + waiting
redis.call("HSET", ledgers, ARGV[3], ledger_text(late))
add_members(KEYS[12], members)
live.save()
for _, block in ipairs(blocks) do redis.call("HSET", KEYS[16], block[1], block[2]) end
for _, chunk in ipairs(chunks) do redis.call("HSET", delay, chunk[1], chunk[2]) end
for txn, mine in pairs(aside) do
  if mine and mine.is_new then
    redis.call("HSET", delay, txn, "O " .. whole(mine[1]) .. " " .. whole(mine[2]) .. " " .. whole(mine[3]))
  end
end
local open_count = tonumber(own[3]) + #members / 2
if live_entries > 0 then
  redis.call("HSET", delay, "open", whole(open_count))
  redis.call("HINCRBY", delay, "entries", whole(live_entries))
  redis.call("HINCRBY", delay, "records", whole(live_records))
end
if held_records > 0 then redis.call("HINCRBY", delay, "held", whole(held_records)) end
windows_save(ARGV[4])
opened_save(opened)
sidecar.save(KEYS[22])
if #logged > 0 then
  local following, stable = whole(next_offset), held[4]
  if nothing_open then stable = opened[1] and opened[1][3] or following end
  log_grew(state, ARGV[5], held[5], following, stable, whole(newest), whole(tonumber(held[7] or 0) + bytes))
end
return { OK, held[5], whole(row.bytes), row.created, whole(late.bytes), late.created, open_count, unpack(answers) }
