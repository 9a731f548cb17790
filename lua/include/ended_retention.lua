-- Expires what a coordinator stores of ended transactions (include/ended_transactions).
-- Uses of txn/apply and txn/forget: hmget_chunked, call_chunked, now.
local STEP = "!" -- begins the nonces of steps

local function is_step(nonce) return string.sub(nonce, 1, 1) == STEP end

-- Returns the members older than keep_ms, and the oldest of those above the number to keep (both: negative for no limit).
local function surplus_of(key, keep_ms, keep, most)
  local old, surplus = {}, 0
  if keep_ms >= 0 then old = redis.call("ZRANGEBYSCORE", key, "0", now - keep_ms, "LIMIT", "0", most) end
  if keep >= 0 then surplus = redis.call("ZCARD", key) - 1 - #old - keep end
  if surplus <= 0 then return old end
  return redis.call("ZRANGEBYSCORE", key, "0", "+inf", "LIMIT", "0", #old + math.min(surplus, most))
end

-- Removes nonces that no outcome and no live transaction needs any more.
local function nonces_forget(nonces)
  if #nonces == 0 then return end
  local serials, begun, unused = hmget_chunked(KEYS[7], nonces), {}, {}
  for n, nonce in ipairs(nonces) do
    if serials[n] then begun[#begun + 1], unused[#unused + 1] = serials[n], nonce end
  end
  if #begun == 0 then return end
  local gone, live = {}, hmget_chunked(KEYS[2], begun)
  for n, outcome in ipairs(hmget_chunked(KEYS[5], begun)) do
    if not outcome and not live[n] then gone[#gone + 1] = unused[n] end
  end
  call_chunked("HDEL", KEYS[7], gone)
end

-- The nonce of a step stays with the step: a retry may still need it.  answered: steps whose response is stored.
local function outcomes_forget(old, answered)
  if #old == 0 then return end
  for i, row in ipairs(hmget_chunked(KEYS[5], old)) do
    local nonce = string.match(row or "", "^.* ([^ |]+)")
    local is_last = nonce and nonce ~= "-" and redis.call("HGET", KEYS[7], nonce) == old[i]
    local is_kept = is_last and is_step(nonce) and not answered[nonce] and redis.call("ZSCORE", KEYS[12], nonce)
    if is_last and not is_kept then redis.call("HDEL", KEYS[7], nonce) end
  end
  call_chunked("HDEL", KEYS[5], old)
  call_chunked("ZREM", KEYS[6], old)
end
