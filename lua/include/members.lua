-- Members of the sorted sets of scheduled entries; twin of redis_ledger/delay/entry.py, which draws them.
-- And a row of `parts`, one character for each record of an entry: 1 in the group, m rescheduled by itself, f fired,
-- x cancelled.  An entry without a row is one group, all pending.
local function member_of(entry, rest) return string.format("%012d", entry) .. " " .. rest end

-- entry, index ("" whole), ledger, records, bytes, newest timestamp
local function member_parts(member)
  local name, ledger, records, bytes, newest = string.match(member, "^(%S+) (%S+) (%d+) (%d+) (%-?%d+)$")
  return tonumber(string.sub(name, 1, 12)), string.sub(name, 14), ledger, tonumber(records), tonumber(bytes), tonumber(newest)
end

local function is_pending(parts) return string.find(parts, "[1m]") ~= nil end

-- Adds score, member, score, member ... in steps that unpack can take.
local function add_members(key, pairs_)
  for i = 1, #pairs_, 4000 do redis.call("ZADD", key, unpack(pairs_, i, math.min(i + 3999, #pairs_))) end
end
