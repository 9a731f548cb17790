-- Leases whose consumer has not received the response: a repeated request delivers them again.  Needs include/backoff.
local AGAIN_MAX = 600

-- Returns the leases of a request whose response was lost; without a name, those of its consumer with its deadline.
local function leases_of_request(c, consumer, request, now, wait)
  local function is_of_it(lease)
    if request == "" then return lease.consumer == consumer and lease.deadline == now + wait_ms(wait, lease.count) end
    return lease.consumer == consumer and lease.request == request
  end
  if cursors.has_keys(c.kind) then return cursors.leases_where(c, AGAIN_MAX, is_of_it) end
  local found, names = {}, redis.call("ZREVRANGEBYSCORE", c.due, "+inf", now, "LIMIT", 0, AGAIN_MAX)
  for _, lease in ipairs(cursors.leases_at(c, names)) do
    if is_of_it(lease) then found[#found + 1] = lease end
  end
  return found
end
