#!lua
--[[ ledger/append: accept the payload entries that the preceding XADDs wrote, or delete them again.

Runs in one MULTI directly after n commands XADD data NOMKSTREAM 0-* b <payload>.  If exactly n entries are new, each is
accepted if its producer's epoch and sequence are valid (KIP-98) and its transaction may write here; it then gets an
offset and a log entry.  No broker predicts offsets, so any number of brokers can append at once.

KEYS        1 state  2 ledgers  3 log  4 producers  5 open  6 firsts  7 ended  8 watermarks
            9 data   stream   the ledger named in ARGV[2]
            10.. calls of coordinators, if a partition is registered by the call before this one
ARGV        1 topic_id  2 ledger  3 now_ms  4 channel to publish to (leader epoch, next offset, stable offset)
            5.. the batches, ten each: records  bytes  max_timestamp_ms  producer_id (-1 none)  epoch  sequence (-1 none)
            coordinator  serial ("" not transactional)  verified (1: registered with its coordinator just now)
            or the serial "?" and "KEYS:call:place:broker": where the reply to the registration is stored
            owner of the producer id ("" not compared; OF_CHUNKS: a chunk of a large message, transactional, no sequence)
RETURNS     {OK, leader_epoch, ledger_bytes, ledger_created_ms, reply ...} one reply for each batch:
            {OK, base_offset} | {DUPLICATE, base_offset} | {SEQUENCE_GAP, expected} | {UNKNOWN_PRODUCER, log_start}
            | {STALE_EPOCH, epoch_now} | {DUPLICATE_SEQUENCE} | {TXN_ENDED} | {NOT_VERIFIED}
            | {OTHER_OPEN, coordinator, serial} | {OTHER_BUFFER} | {NOT_OWNER}
            or, for all of them, {LEDGER_MOVED, active ledger} | {HEALED} | {UNKNOWN_TOPIC}
COMPLEXITY  O(n + log of the open transactions); heal is O(unaccepted entries)
WRITES      log entries and indexes of accepted batches; deletes the payload of refused ones
SOURCE      PIP-31 "transaction buffer"; KIP-98 "idempotent producer"; docs/decisions/0002
]]
--- @include "include/status"
--- @include "include/serial_order"
--- @include "include/partition"
--- @include "include/producers"
--- @include "include/registered_serial"

local OF_CHUNKS, CHUNK = "chunk", "17" -- flags of its log entry: 1 transactional, 16 a chunk, which subscriptions skip

local state, ledgers, data, ledger = KEYS[1], KEYS[2], KEYS[9], ARGV[2]
local text = redis.call("HGET", ledgers, ledger)
local held = redis.call("HMGET", state, "topic_id", "ledger", "next", "stable", "epoch", "newest", "bytes")
if not held[1] or not text then
  if held[1] and held[1] == ARGV[1] then return { LEDGER_MOVED, held[2] } end
  return { UNKNOWN_TOPIC }
end
local row, count = ledger_row(text), (#ARGV - 4) / 10
local surplus = redis.call("XLEN", data) - (row.issued - row.deleted)

if surplus ~= count then -- an earlier call was interrupted between XADD and script, or XADDs of this one failed
  heal(data, ledgers, ledger, row)
  return { HEALED }
end

local function refuse_all(...)
  heal(data, ledgers, ledger, row)
  return { ... }
end

if held[1] ~= ARGV[1] then return refuse_all(UNKNOWN_TOPIC) end
if held[2] ~= ledger or row.sealed == "1" then return refuse_all(LEDGER_MOVED, held[2]) end

stored.check("The state of the partition", { held[3], held[4], held[5], held[6], held[7] or "0" })
local next_offset, nothing_open = tonumber(held[3]), held[3] == held[4] -- only an open transaction keeps stable below next
-- Decide on every batch, in order; `accepted` collects what to write.
local answers, accepted, removed, opened, bytes, newest = {}, {}, {}, {}, 0, tonumber(held[6])
for i = 1, count do
  local at, entry = 10 * i - 5, row.issued + i
  local records, pid, epoch, sequence = tonumber(ARGV[at]), ARGV[at + 3], tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  local serial, verified, counted = ARGV[at + 7], ARGV[at + 8], pid ~= "-1" and sequence >= 0
  local refusal = counted and refusal_by_sequence(pid, epoch, sequence, records, ARGV[at + 9], ARGV[3]) or nil
  if serial == "?" then serial, verified = registered_serial(verified), "1" end
  if not serial then
    refusal = refusal or { NOT_VERIFIED }
  elseif not refusal and serial ~= "" then
    refusal = refusal_by_fence(pid, ARGV[at + 6], serial, verified, false)
  end
  if refusal then
    removed[#removed + 1] = "0-" .. whole(entry)
    answers[i] = refusal
  else
    local base = whole(next_offset)
    answers[i] = { OK, base }
    if counted then window_take(pid, epoch, sequence, records, base, ARGV[at + 9]) end
    if serial ~= "" and not opens[pid] then
      opens[pid] = ARGV[at + 6] .. " " .. serial
      opened[#opened + 1] = { pid, ARGV[at + 4] .. " " .. opens[pid] .. " " .. base, base }
    end
    next_offset = next_offset + records
    newest = math.max(newest, tonumber(ARGV[at + 2]))
    accepted[#accepted + 1] = { at, whole(entry), base, whole(next_offset - 1), whole(newest) }
    bytes = bytes + tonumber(ARGV[at + 1])
  end
end

for _, a in ipairs(accepted) do
  local at = a[1]
  local flags = ARGV[at + 7] == "" and "0" or ARGV[at + 9] == OF_CHUNKS and CHUNK or "1"
  redis.call("XADD", KEYS[3], a[4] .. "-1", "l", ledger, "e", a[2], "b", a[3], "n", ARGV[at], "s", ARGV[at + 1],
    "p", ARGV[at + 3], "v", ARGV[at + 4], "q", ARGV[at + 5], "f", flags, "t", ARGV[3], "m", a[5])
end
for _, id in ipairs(removed) do redis.call("XDEL", data, id) end
row.issued, row.deleted, row.bytes = row.issued + count, row.deleted + #removed, row.bytes + bytes
if #accepted > 0 then row.max = next_offset - 1 end
redis.call("HSET", ledgers, ledger, ledger_text(row))
windows_save(ARGV[3])
opened_save(opened)
if #accepted > 0 then
  local following, stable = whole(next_offset), held[4]
  if nothing_open then stable = opened[1] and opened[1][3] or following end
  log_grew(state, ARGV[4], held[5], following, stable, whole(newest), whole(tonumber(held[7] or 0) + bytes))
end
return { OK, held[5], whole(row.bytes), row.created, unpack(answers) }
