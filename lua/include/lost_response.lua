-- Leases whose consumer has not received the response: a repeated request delivers them again.  Needs include/backoff.
local AGAIN_MAX = 600

-- Returns the leases of a request whose response was lost; without a name, those of its consumer with its deadline.
local function leases_of_request(c, consumer, request, now, wait)
  local found, names = {}, redis.call("ZREVRANGEBYSCORE", c.due, "+inf", now, "LIMIT", 0, AGAIN_MAX)
  for _, lease in ipairs(cursors.leases_at(c, names)) do
    local is_of_it = lease.request == request
    if request == "" then is_of_it = lease.deadline == now + wait_ms(wait, lease.count) end
    if lease.consumer == consumer and is_of_it then found[#found + 1] = lease end
  end
  return found
end
