-- Checks the batches of a producer: its sequence (KIP-98) and the fence of its transaction.  For scripts whose KEYS are
-- 1 state  4 producers  5 open  6 firsts  7 ended  8 watermarks.  Only windows_save and opened_save write.
local WRAP = 2147483648 -- sequences wrap after 2^31 - 1
-- By producer: its window, its open transaction, whether a loss came after it, and its row if it is in the sidecar buffer.
local windows, opens, is_old, asides = {}, {}, {}, {}

local OF_TRANSACTIONS = "t" -- the owner of a producer id whose transaction its coordinator has verified
local SINCE_MS, EACH_MS = 1735689600000, 64 -- producer ids follow the clock: include/id_allocation
local KEPT_MS = 82800000 -- rows are kept for a day (broker/topics/state_expiry.py); clocks differ by less than an hour
local BATCHES = 5 -- of a window

-- Reads a producer's window: "epoch last_ms @owner first:last:offset ...", the five newest batches, newest last.  The owner
-- is a digest of the principal that writes under this id; it is missing without authentication, and in rows of older
-- releases.  For a request whose Idempotency-Key has a shorter retention, "@~60" is that retention in seconds: no client
-- may use its id, so its owner is not compared (broker/topics/state_expiry.py).
local function window_of(pid)
  if windows[pid] == nil then
    local known, window = redis.call("HGET", KEYS[4], pid), false
    if known then
      local epoch, saved_ms, rest = string.match(known, "^(%-?%d+) (%d+)(.*)$")
      local of = string.match(rest, "^ @(%S+)") or ""
      window = { epoch = tonumber(epoch), saved_ms = tonumber(saved_ms), owner = of }
      for first, last, offset in string.gmatch(rest, " (%d+):(%d+):(%-?%d+)") do
        window[#window + 1] = { tonumber(first), tonumber(last), offset }
      end
    end
    windows[pid] = window
  end
  return windows[pid]
end

-- Whether the offset lies before the current leader epoch: batches that the producer wrote after it may be lost. Then the producer
-- begins a new epoch, as after UNKNOWN_PRODUCER, and does not fail as after a gap.  A batch of the sidecar buffer, or a
-- scheduled one, has no offset (below 0): then the time of the window decides.
local function is_before_epoch(offset, saved_ms)
  local first, began_ms = string.match(redis.call("HGET", KEYS[1], "epochs") or "", ":(%d+):%d+:%d+:(%d+)$")
  if not first then return false end
  if saved_ms and tonumber(offset) < 0 then return saved_ms < tonumber(began_ms) end
  return tonumber(offset) < tonumber(first)
end

-- Whether a producer without a row may have written here: its id is older than rows are kept, or than the partition, which may
-- be that of a topic that was deleted and created again.  As a double, an id of 63 bits is exact to 16 ms.  False for the
-- ids that no client may name (bit 47).
local function may_be_forgotten(pid, now)
  local issued_ms = SINCE_MS + tonumber(pid) % 2 ^ 48 / EACH_MS
  return issued_ms < now - KEPT_MS or issued_ms < tonumber(redis.call("HGET", KEYS[1], "created") or 0)
end

local function is_compared(owner) return owner ~= "" and string.sub(owner, 1, 1) ~= "~" end

-- owner: the sender of the batch, "" if it is not compared.  Every reader sees the producer ids of batches, so only the
-- owner's batches may change its window.  A batch of a verified transaction replaces the window of another producer.
local function refusal_by_sequence(pid, epoch, sequence, records, owner, now)
  local window = window_of(pid)
  if window and is_compared(owner) and is_compared(window.owner) and window.owner ~= owner then
    if owner ~= OF_TRANSACTIONS then return { NOT_OWNER } end
    window, windows[pid] = false, false
  end
  if not window then
    -- A forgotten producer continues with any sequence (KIP-360).  A new one begins with its first batch: a later batch
    -- could be in flight behind a refused first one, which the client would then have to send under another epoch.
    if sequence == 0 or may_be_forgotten(pid, tonumber(now)) then return nil end
    return { UNKNOWN_PRODUCER, redis.call("HGET", KEYS[1], "start") }
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
  -- Slightly behind is old, anything else is a gap.  A window that is not full has all batches that were written, so what
  -- lies before it was not: its producer was forgotten, or began later.
  local back, written = (expected - sequence) % WRAP, WRAP / 2
  if newest and #window < BATCHES then written = (expected - window[1][1]) % WRAP + 1 end
  if back >= records and back < written then return { DUPLICATE_SEQUENCE } end
  if newest and is_before_epoch(newest[3], window.saved_ms) then
    return { UNKNOWN_PRODUCER, redis.call("HGET", KEYS[1], "start") }
  end
  return { SEQUENCE_GAP, expected }
end

-- is_aside: whether the batch goes to the sidecar buffer, where all batches of its transaction go then; nil: to neither.
local function refusal_by_fence(pid, coordinator, serial, verified, is_aside)
  local txn = coordinator .. " " .. serial
  local open = opens[pid]
  if open == nil then
    local text = redis.call("HGET", KEYS[5], pid)
    local found, first = string.match(text or "", "^%-?%d+ (%d+ %d+) (%-?%d+)")
    open = found or false
    opens[pid], is_old[pid] = open, found and is_before_epoch(first)
    asides[pid] = found and string.find(text, " s ", 1, true) and text or nil
  end
  -- A transaction from before the current leader epoch gets no more batches: its end may be lost, and a broker that sends
  -- the batch of the producer's next transaction may have chosen this one before the loss.
  if open == txn then
    if is_old[pid] then return { TXN_ENDED } end
    return is_aside ~= nil and (asides[pid] ~= nil) ~= is_aside and { OTHER_BUFFER } or nil
  end
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

-- Adds the batch to its producer's window.  base: its offset, -1 if it has none.
local function window_take(pid, epoch, sequence, records, base, owner)
  local window = windows[pid]
  if owner == "" and window then owner = window.owner end
  if not window or window.epoch ~= epoch then window = { epoch = epoch } end
  window.owner, window.saved_ms = owner, math.huge -- now
  window[#window + 1] = { sequence, (sequence + records - 1) % WRAP, base }
  window.is_new = true
  windows[pid] = window
end

local function windows_save(now)
  for pid, window in pairs(windows) do
    if window and window.is_new then
      local parts = { whole(window.epoch), now }
      if window.owner ~= "" then parts[3] = "@" .. window.owner end
      for i = math.max(1, #window - BATCHES + 1), #window do
        parts[#parts + 1] = whole(window[i][1]) .. ":" .. whole(window[i][2]) .. ":" .. window[i][3]
      end
      redis.call("HSET", KEYS[4], pid, table.concat(parts, " "))
    end
  end
end

-- opened: producer, row of `open` and first offset of each transaction that begins here.
local function opened_save(opened)
  for _, o in ipairs(opened) do
    redis.call("HSET", KEYS[5], o[1], o[2])
    redis.call("ZADD", KEYS[6], o[3], o[1])
  end
end
