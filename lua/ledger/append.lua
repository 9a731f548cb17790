#!lua
--[[ ledger/append: accept the payload entries that the XADDs just before this call wrote, or delete them again.

Runs in one MULTI right after n times XADD data NOMKSTREAM 0-* b <payload>; nothing can come between.  When exactly n
entries are new, each is accepted if its producer's epoch and sequence fit (KIP-98) and its transaction may write here; it
then gets its offset and its log entry.  Nobody predicts an offset, so any number of brokers append at once.

KEYS        1 state  2 ledgers  3 log  4 producers  5 open  6 firsts  7 ended  8 watermarks
            9 data   stream   the ledger named in ARGV[2]
            10 wake  channel  told (leader epoch, next offset, stable offset)
ARGV        1 topic_id  2 ledger  3 now_ms
            4.. the batches, nine each: records  bytes  max_timestamp_ms  producer_id (-1 none)  epoch  sequence (-1 none)
            coordinator  serial ("" not transactional)  verified (1: registered with its coordinator just now)
RETURNS     {OK, leader_epoch, ledger_bytes, ledger_created_ms, answer ...} one answer for each batch:
            {OK, base_offset} | {DUPLICATE, base_offset} | {SEQUENCE_GAP, expected} | {STALE_EPOCH, epoch_now}
            | {DUPLICATE_SEQUENCE} | {TXN_ENDED} | {NOT_VERIFIED} | {OTHER_OPEN, coordinator, serial}
            or, for all of them, {LEDGER_MOVED, active ledger} | {HEALED} | {UNKNOWN_TOPIC}
COMPLEXITY  O(n + log of the open transactions); heal is O(entries left behind)
WRITES      log entries and indexes of what is accepted, the removal of the payload of what is not
SOURCE      PIP-31 "transaction buffer"; KIP-98 "idempotent producer"; docs/decisions/0002
]]
--- @include "include/status"
--- @include "include/serial"
--- @include "include/partition"
local WRAP = 2147483648 -- sequences count to 2^31 - 1 and begin again
local state, ledgers, data, ledger = KEYS[1], KEYS[2], KEYS[9], ARGV[2]
local text = redis.call("HGET", ledgers, ledger)
local held = redis.call("HMGET", state, "topic_id", "ledger", "next", "stable", "epoch", "newest")
if not held[1] or not text then
  if held[1] and held[1] == ARGV[1] then return { LEDGER_MOVED, held[2] } end
  return { UNKNOWN_TOPIC }
end
local row, count = ledger_row(text), (#ARGV - 3) / 9
local surplus = redis.call("XLEN", data) - (row.issued - row.deleted)

if surplus ~= count then -- a call before this one was cut off between its two halves, or XADDs of this one were refused
  local info = redis.call("XINFO", "STREAM", data)
  local last = 0
  for i = 1, #info, 2 do
    if info[i] == "last-generated-id" then last = tonumber(string.match(info[i + 1], "%-(%d+)$")) end
  end
  local extra = redis.call("XRANGE", data, "0-" .. whole(row.issued + 1), "+")
  for _, item in ipairs(extra) do redis.call("XDEL", data, item[1]) end
  row.issued, row.deleted = last, last - redis.call("XLEN", data) -- whatever was wrong, now it is right
  redis.call("HSET", ledgers, ledger, ledger_text(row))
  return { HEALED }
end

local function refuse_all(...)
  for i = 1, count do redis.call("XDEL", data, "0-" .. whole(row.issued + i)) end
  row.issued, row.deleted = row.issued + count, row.deleted + count
  redis.call("HSET", ledgers, ledger, ledger_text(row))
  return { ... }
end

if held[1] ~= ARGV[1] then return refuse_all(UNKNOWN_TOPIC) end
if held[2] ~= ledger or row.sealed == "1" then return refuse_all(LEDGER_MOVED, held[2]) end

local next_offset, nothing_open = tonumber(held[3]), held[3] == held[4] -- only an open transaction holds stable back
local windows, opens, refused = {}, {}, {} -- by producer: its window, its open transaction, whether this call refused it

-- The producer's window: "epoch last_ms first:last:offset ...", the five newest batches, newest last.
local function window_of(pid)
  if windows[pid] == nil then
    local known, window = redis.call("HGET", KEYS[4], pid), false
    if known then
      local epoch, rest = string.match(known, "^(%-?%d+) %d+(.*)$")
      window = { epoch = tonumber(epoch) }
      for first, last, offset in string.gmatch(rest, " (%d+):(%d+):(%d+)") do
        window[#window + 1] = { tonumber(first), tonumber(last), offset }
      end
    end
    windows[pid] = window
  end
  return windows[pid]
end

local function refusal_by_sequence(pid, epoch, sequence, records)
  local window = window_of(pid)
  if not window then
    -- A batch of an unknown producer that this call refused must not be overtaken: its repetition would look like a
    -- duplicate of this one.
    return refused[pid] and { SEQUENCE_GAP, 0 } or nil
  end
  if epoch < window.epoch then return { STALE_EPOCH, window.epoch } end
  if epoch > window.epoch then return sequence ~= 0 and { SEQUENCE_GAP, 0 } or nil end
  local last = (sequence + records - 1) % WRAP
  for _, batch in ipairs(window) do
    if batch[1] == sequence and batch[2] == last then return { DUPLICATE, batch[3] } end
  end
  local newest = window[#window]
  local expected = newest and (newest[2] + 1) % WRAP or 0
  if sequence == expected then return nil end
  local back = (expected - sequence) % WRAP -- near behind is old, all else is a gap
  if back >= records and back < WRAP / 2 then return { DUPLICATE_SEQUENCE } end
  return { SEQUENCE_GAP, expected }
end

local function refusal_by_fence(pid, coordinator, serial, verified)
  local txn = coordinator .. " " .. serial
  local open = opens[pid]
  if open == nil then
    local text = redis.call("HGET", KEYS[5], pid)
    open = text and string.match(text, "^%-?%d+ (%d+ %d+) ") or false
    opens[pid] = open
  end
  if open == txn then return nil end
  if open then
    local other_coordinator, other_serial = string.match(open, "^(%d+) (%d+)$")
    return { OTHER_OPEN, other_coordinator, other_serial }
  end
  local watermark = redis.call("HGET", KEYS[8], coordinator)
  if redis.call("ZSCORE", KEYS[7], coordinator .. "-" .. serial) or (watermark and serial_at_most(serial, watermark)) then
    return { TXN_ENDED }
  end
  if verified ~= "1" then return { NOT_VERIFIED } end
end

-- Decide on every batch, in order; `accepted` then holds what to write.
local answers, accepted, removed, opened, bytes, newest = {}, {}, {}, {}, 0, tonumber(held[6])
for i = 1, count do
  local at, entry = 9 * i - 5, row.issued + i
  local records, pid, epoch, sequence = tonumber(ARGV[at]), ARGV[at + 3], tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  local serial, counted = ARGV[at + 7], pid ~= "-1" and sequence >= 0
  local refusal = counted and refusal_by_sequence(pid, epoch, sequence, records) or nil
  if not refusal and serial ~= "" then refusal = refusal_by_fence(pid, ARGV[at + 6], serial, ARGV[at + 8]) end
  if refusal then
    refused[pid] = true
    removed[#removed + 1] = "0-" .. whole(entry)
    answers[i] = refusal
  else
    local base = whole(next_offset)
    answers[i] = { OK, base }
    if counted then
      local window = windows[pid]
      if not window or window.epoch ~= epoch then window = { epoch = epoch } end
      window[#window + 1] = { sequence, (sequence + records - 1) % WRAP, base }
      window.is_new = true
      windows[pid] = window
    end
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
  redis.call("XADD", KEYS[3], a[4] .. "-1", "l", ledger, "e", a[2], "b", a[3], "n", ARGV[at], "s", ARGV[at + 1],
    "p", ARGV[at + 3], "v", ARGV[at + 4], "q", ARGV[at + 5], "f", ARGV[at + 7] == "" and "0" or "1", "t", ARGV[3],
    "m", a[5])
end
for _, id in ipairs(removed) do redis.call("XDEL", data, id) end
row.issued, row.deleted, row.bytes = row.issued + count, row.deleted + #removed, row.bytes + bytes
if #accepted > 0 then row.max = next_offset - 1 end
redis.call("HSET", ledgers, ledger, ledger_text(row))
for pid, window in pairs(windows) do
  if window and window.is_new then
    local parts = { whole(window.epoch), ARGV[3] }
    for i = math.max(1, #window - 4), #window do
      parts[#parts + 1] = whole(window[i][1]) .. ":" .. whole(window[i][2]) .. ":" .. window[i][3]
    end
    redis.call("HSET", KEYS[4], pid, table.concat(parts, " "))
  end
end
for _, o in ipairs(opened) do
  redis.call("HSET", KEYS[5], o[1], o[2])
  redis.call("ZADD", KEYS[6], o[3], o[1])
end
if #accepted > 0 then
  local following, stable = whole(next_offset), held[4]
  if nothing_open then stable = opened[1] and opened[1][3] or following end
  redis.call("HSET", state, "next", following, "stable", stable, "newest", whole(newest))
  redis.call("HINCRBY", state, "bytes", whole(bytes))
  redis.call("SPUBLISH", KEYS[10], held[5] .. " " .. following .. " " .. stable)
end
return { OK, held[5], whole(row.bytes), row.created, unpack(answers) }
