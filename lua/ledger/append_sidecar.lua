#!lua
--[[ ledger/append_sidecar: accept transactional batches into the sidecar buffer, or delete their payload entries again.

Runs in one MULTI directly after n commands XADD data NOMKSTREAM 0-* b <payload>, like ledger/append.  An accepted batch gets
no offset: it is noted with its transaction, and no reader sees it or waits for it before the commit.

    sidecar   t1: a b     t2: c          log    x  y                commit of t2, then of t1:  x  y  c  [a b]

KEYS        1 state  2 ledgers  3 log  4 producers  5 open  6 firsts  7 ended  8 watermarks  9 sidecar
            10 data   stream   the delay ledger named in ARGV[2]
            11 delay state  12 delay open  13 delay live  14 delay closing  15 delay queue  16 delay parts  17 delay moved
            18 delay buckets  19 delay next  20 delay snaps  21 delay repeats
            22.. calls of coordinators, if a partition is registered by the call before this one
ARGV        1 topic_id  2 delay ledger (-1, -2, ...)  3 now_ms
            4.. the batches, ten each, as in ledger/append; all of them are transactional
RETURNS     {OK, leader_epoch, ledger_bytes, ledger_created_ms, reply ...} one reply for each batch: {OK, -1}
            | {DUPLICATE, -1} | a refusal of ledger/append
            or, for all of them, {LEDGER_MOVED, delay ledger} | {HEALED} | {UNKNOWN_TOPIC}
COMPLEXITY  O(n log b) for b batches in the buffer; heal is O(unaccepted entries)
WRITES      the buffer and the rows of its transactions; deletes the payload of refused batches
SOURCE      transaction buffer RFC "sidecar"; KIP-98; docs/decisions/0044
]]
--- @include "include/status"
--- @include "include/serial_order"
--- @include "include/partition"
--- @include "include/producers"
--- @include "include/registered_serial"
--- @include "include/create_stream"
--- @include "include/first_scheduled"
--- @include "include/sidecar_append"
local OF_CHUNKS = "chunk"
local ledgers, data, ledger = KEYS[2], KEYS[10], ARGV[2]
local held = redis.call("HMGET", KEYS[1], "topic_id", "next", "epoch")
local own, text = redis.call("HGET", KEYS[11], "ledger"), redis.call("HGET", ledgers, ledger)
local row = text and ledger_row(text)

local function refuse_all(...)
  if row then heal(data, ledgers, ledger, row) end
  return { ... }
end

if held[1] ~= ARGV[1] then return refuse_all(UNKNOWN_TOPIC) end
if not own then
  if ledger == "-1" and not row then create_delay_index(ledgers, ARGV[3]) end
  return refuse_all(LEDGER_MOVED, "-1")
end
if not row or own ~= ledger or row.sealed == "1" then return refuse_all(LEDGER_MOVED, own) end
local count = (#ARGV - 3) / 10
if redis.call("XLEN", data) - (row.issued - row.deleted) ~= count then return refuse_all(HEALED) end

stored.check("The state of the partition", { held[2], held[3] })
local answers, removed, bytes = {}, {}, 0
for i = 1, count do
  local at, entry = 10 * i - 6, row.issued + i
  local records, pid, epoch, sequence = tonumber(ARGV[at]), ARGV[at + 3], tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  local coordinator, serial, verified, owner = ARGV[at + 6], ARGV[at + 7], ARGV[at + 8], ARGV[at + 9]
  local refusal = sequence >= 0 and refusal_by_sequence(pid, epoch, sequence, records, owner, ARGV[3]) or nil
  if serial == "?" then serial, verified = registered_serial(verified), "1" end
  if not serial then
    refusal = refusal or { NOT_VERIFIED }
  else
    refusal = refusal or refusal_by_fence(pid, coordinator, serial, verified, true)
  end
  if refusal then
    removed[#removed + 1] = "0-" .. whole(entry)
    answers[i] = refusal
  else
    if sequence >= 0 then window_take(pid, epoch, sequence, records, "-1", owner) end
    sidecar.take(pid, ARGV[at + 4], coordinator, serial, held[2], {
      ledger = ledger, entry = entry, records = records, bytes = tonumber(ARGV[at + 1]), newest = tonumber(ARGV[at + 2]),
      flags = owner == OF_CHUNKS and "16" or "0",
    })
    bytes = bytes + tonumber(ARGV[at + 1])
    answers[i] = { OK, "-1" }
  end
end

for _, id in ipairs(removed) do redis.call("XDEL", data, id) end
row.issued, row.deleted, row.bytes = row.issued + count, row.deleted + #removed, row.bytes + bytes
row.unlogged = row.unlogged + count - #removed
redis.call("HSET", ledgers, ledger, ledger_text(row))
windows_save(ARGV[3])
sidecar.save(KEYS[9])
return { OK, held[3], whole(row.bytes), row.created, unpack(answers) }
