-- A receive whose response was lost is sent again, as the next attempt of the same request (docs/decisions/0052).  A request
-- is "name.attempt", from attempt 0 on; its leases carry it.  Needs include/backoff.
--     r.0   leases 3 and 7 ─▶ response lost
--     r.1   takes over 3 and 7: they become leases of r.1, and r.0 leases nothing more, and returns nothing of it
local AGAIN_MAX = 600 -- leases that are looked at; of a key_shared subscription, all

local function named(request) return string.match(request, "^(.*)%.(%d+)$") end

-- Returns whether a later attempt of the request has called here.
local function is_superseded(c, request)
  local name, attempt = named(request)
  local known, last = named(cursors.member(c).request)
  return name ~= nil and name == known and tonumber(attempt) < tonumber(last)
end

-- Returns a function: whether a lease is of any attempt of a request; without a request, of its consumer with its deadline.
local function of_request(consumer, request, now, wait)
  local name = named(request)
  return function(lease)
    if lease.consumer ~= consumer then return false end
    if not name then return lease.deadline == now + wait_ms(wait, lease.count) end
    return named(lease.request) == name
  end
end

local function leases_of_request(c, consumer, request, now, wait)
  local is_of_it = of_request(consumer, request, now, wait)
  if cursors.has_keys(c.kind) then return cursors.leases_where(c, math.huge, is_of_it) end
  local found, names = {}, redis.call("ZREVRANGEBYSCORE", c.due, "+inf", "0", "LIMIT", "0", AGAIN_MAX)
  for _, lease in ipairs(cursors.leases_at(c, names)) do
    if is_of_it(lease) then found[#found + 1] = lease end
  end
  return found
end
