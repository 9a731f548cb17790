-- What a coordinator remembers of transactions that have ended (txn/apply).
--   outcomes  serial → "outcome ended started timeout owner nonce", for as long and as many as the call says
--   nonces    nonce → the serial that was begun with it, as long as its transaction, its outcome or its step is known
--   steps     nonce → when it was committed, for a step (transactions:execute) under an Idempotency-Key.  It is kept as long
--             as the key, which outlives the outcome; once the answer is stored with the key (n), nothing leans on it.  So
--             what stays is the steps whose broker died between the commit and the answer.
-- Uses of txn/apply: values, spread, now.
local STEP = "!" -- begins the nonces of steps
local steps = { answered = {} }

local function is_step(nonce) return string.sub(nonce, 1, 1) == STEP end

function steps.is_kept(nonce)
  return is_step(nonce) and not steps.answered[nonce] and redis.call("ZSCORE", KEYS[12], nonce)
end

-- n: the answer is stored.
function steps.answer(nonce)
  steps.answered[nonce] = true
  return "0 -"
end

-- The members that are older than keep_ms, and the oldest of those above the number to keep (both: negative for no limit).
local function surplus_of(key, keep_ms, keep, most)
  local old, surplus = {}, 0
  if keep_ms >= 0 then old = redis.call("ZRANGEBYSCORE", key, 0, now - keep_ms, "LIMIT", 0, most) end
  if keep >= 0 then surplus = redis.call("ZCARD", key) - 1 - #old - keep end
  if surplus <= 0 then return old end
  return redis.call("ZRANGEBYSCORE", key, 0, "+inf", "LIMIT", 0, #old + math.min(surplus, most))
end

-- Removes nonces that no outcome needs any more.
local function nonces_forget(nonces)
  if #nonces == 0 then return end
  local serials, begun, unused = values(KEYS[7], nonces), {}, {}
  for n, nonce in ipairs(nonces) do
    if serials[n] then begun[#begun + 1], unused[#unused + 1] = serials[n], nonce end
  end
  if #begun == 0 then return end
  local gone = {}
  for n, outcome in ipairs(values(KEYS[5], begun)) do
    if not outcome then gone[#gone + 1] = unused[n] end
  end
  spread("HDEL", KEYS[7], gone)
end

-- committed: nonces of steps that are committed by this call.
local function steps_save(committed)
  local added, gone = {}, {}
  for nonce in pairs(steps.answered) do gone[#gone + 1] = nonce end
  for _, nonce in ipairs(committed) do
    if not steps.answered[nonce] then added[#added + 1], added[#added + 2] = ARGV[1], nonce end
  end
  spread("ZADD", KEYS[12], added)
  if #added > 0 then
    for _, nonce in ipairs(surplus_of(KEYS[12], tonumber(ARGV[9]), tonumber(ARGV[10]), #added)) do gone[#gone + 1] = nonce end
  end
  spread("ZREM", KEYS[12], gone)
  nonces_forget(gone)
end

-- finished: serial → transaction, whose state is its outcome.
local function outcomes_save(finished)
  local ended, padded, rows, times, committed = {}, {}, {}, {}, {}
  for serial, t in pairs(finished) do
    local n = #rows
    ended[#ended + 1], padded[#padded + 1] = serial, rep("0", 15 - #serial) .. serial
    rows[n + 1], rows[n + 2] = serial, t.state .. " " .. ARGV[1] .. " " .. t.fixed
    times[n + 1], times[n + 2] = ARGV[1], serial
    local nonce = match(t.fixed, "(%S+)$")
    if t.state == "C" and is_step(nonce) then committed[#committed + 1] = nonce end
  end
  spread("HDEL", KEYS[2], ended)
  spread("ZREM", KEYS[4], ended)
  spread("ZREM", KEYS[3], padded)
  spread("HSET", KEYS[5], rows)
  spread("ZADD", KEYS[6], times)
  if #committed > 0 or next(steps.answered) then steps_save(committed) end
  if #ended == 0 then return end
  local old = surplus_of(KEYS[6], tonumber(ARGV[4]), tonumber(ARGV[5]), 2 * #ended)
  if #old == 0 then return end
  for i, row in ipairs(values(KEYS[5], old)) do
    local nonce = match(row or "", "(%S+)$")
    local is_last = nonce and nonce ~= "-" and redis.call("HGET", KEYS[7], nonce) == old[i]
    if is_last and not steps.is_kept(nonce) then redis.call("HDEL", KEYS[7], nonce) end
  end
  spread("HDEL", KEYS[5], old)
  spread("ZREM", KEYS[6], old)
end
