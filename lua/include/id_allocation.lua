-- Allocates the numbers of a coordinator (txn/apply): serials of transactions, and producer ids.
-- A number is never allocated twice, not even by a Redis that has lost its newest writes, such as a replica that lagged at
-- a failover.  The next number is one above the last, or 64 for each millisecond since 2025, whichever is higher.
-- A coordinator allocates fewer than 64 a millisecond, so numbers lost in a failover are below the clock's afterwards.
-- A clock that steps back changes nothing.  From 2^47 on (the year 2094) the clock is not used: a producer id has 48 bits.
local id_allocation = { SINCE_MS = 1735689600000, EACH_MS = 64, CLOCK_END = 2 ^ 47 }

-- Returns the lowest number that may be allocated now.
function id_allocation.lowest(stored, now)
  local by_clock = (now - id_allocation.SINCE_MS) * id_allocation.EACH_MS
  if by_clock >= id_allocation.CLOCK_END then return stored end
  return math.max(stored, by_clock)
end
