-- Errors for stored values of another form than scripts write: the caller gets StoredDamaged.  A script raises them before
-- its first write, since nothing rolls back.
local stored = {}
function stored.damaged(what) error({ err = "DAMAGED " .. what }) end

-- Raises unless these values, as read, are whole numbers.  false: the value is absent.
function stored.check(what, values)
  for i = 1, #values do
    if not string.find(values[i] or "", "^%-?%d+$") then stored.damaged(what) end
  end
end

-- Raises if one of these fields of a hash is there and is no whole number, which HINCRBY would refuse.
function stored.check_counters(what, key, ...)
  for _, value in ipairs(redis.call("HMGET", key, ...)) do
    if value and not string.find(value, "^%-?%d+$") then stored.damaged(what) end
  end
end
