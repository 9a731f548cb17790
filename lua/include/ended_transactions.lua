-- Ended transactions as a coordinator stores them (txn/apply).
--   outcomes  serial → "outcome ended started timeout owner nonce|trace" (include/trace), limited in age and number by
--             arguments of the call
--   nonces    nonce → the serial that was begun with it, as long as its transaction, its outcome or its step is stored
--   steps     nonce → time of its commit, for a step (transactions:execute) under an Idempotency-Key.  It is kept as long
--             as the key, which outlives the outcome, or until the response is stored with the key (forget_step).  So the
--             steps that stay are those whose broker died between the commit and the response.
-- Uses of txn/apply: hmget_chunked, call_chunked, now.
--- @include "include/ended_retention"
local steps = {}
steps.answered = {}

function steps.is_kept(nonce)
  return is_step(nonce) and not steps.answered[nonce] and redis.call("ZSCORE", KEYS[12], nonce)
end

-- forget_step: the response of the step is stored.
function steps.forget(nonce)
  steps.answered[nonce] = true
  return { OK }
end

-- committed: nonces of steps that are committed by this call.
local function steps_save(committed)
  local added, gone = {}, {}
  for nonce in pairs(steps.answered) do gone[#gone + 1] = nonce end
  for _, nonce in ipairs(committed) do
    if not steps.answered[nonce] then added[#added + 1], added[#added + 2] = ARGV[1], nonce end
  end
  call_chunked("ZADD", KEYS[12], added)
  if #added > 0 then
    for _, nonce in ipairs(surplus_of(KEYS[12], tonumber(ARGV[9]), tonumber(ARGV[10]), #added)) do gone[#gone + 1] = nonce end
  end
  call_chunked("ZREM", KEYS[12], gone)
  nonces_forget(gone)
end

-- finished: serial → transaction, whose state is its outcome.
local function outcomes_save(finished)
  local ended, padded, rows, times, committed = {}, {}, {}, {}, {}
  for serial, t in pairs(finished) do
    local n = #rows
    ended[#ended + 1], padded[#padded + 1] = serial, rep("0", 15 - #serial) .. serial
    rows[n + 1], rows[n + 2] = serial, t.state .. " " .. ARGV[1] .. " " .. t.fixed .. t.trace
    times[n + 1], times[n + 2] = ARGV[1], serial
    local nonce = match(t.fixed, "^.* (%S+)$")
    if t.state == "C" and is_step(nonce) then committed[#committed + 1] = nonce end
  end
  call_chunked("HDEL", KEYS[2], ended)
  call_chunked("ZREM", KEYS[4], ended)
  call_chunked("ZREM", KEYS[3], padded)
  call_chunked("HSET", KEYS[5], rows)
  call_chunked("ZADD", KEYS[6], times)
  if #committed > 0 or next(steps.answered) then steps_save(committed) end
  if #ended == 0 then return end
  local old = surplus_of(KEYS[6], tonumber(ARGV[4]), tonumber(ARGV[5]), 2 * #ended)
  outcomes_forget(old, steps.answered)
end
