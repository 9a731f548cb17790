-- The time until a lease may be delivered again: "ms", or "ms min factor max" with the back-off of a redelivery rule, which
-- adds min * factor ^ count, at most max, for a lease that was delivered count times before.
local function wait_of(text)
  local base, least, factor, most = string.match(text, "^(%d+) (%d+) (%S+) (%d+)$")
  if not base then return { base = tonumber(text) } end
  return { base = tonumber(base), least = tonumber(least), factor = tonumber(factor), most = tonumber(most) }
end

local function wait_ms(wait, count)
  if not wait.least then return wait.base end
  return wait.base + math.floor(math.min(wait.least * wait.factor ^ count, wait.most))
end
