-- Members of the sorted sets of scheduled entries; twin of redis_ledger/delay/entry.py, which shows examples.
-- And a row of `parts`, one character for each record of an entry: 1 in the group, b due by itself (in a block), m
-- rescheduled, f fired, x cancelled.  An entry without a row is one group, all pending.
local function member_of(entry, rest) return string.format("%012d", entry) .. " " .. rest end

-- entry, index ("" whole), ledger, records, bytes, newest timestamp
local function member_parts(member)
  local name, ledger, records, bytes, newest = string.match(member, "^(%S+) (%S+) (%d+) (%d+) (%-?%d+)$")
  return tonumber(string.sub(name, 1, 12)), string.sub(name, 14), ledger, tonumber(records), tonumber(bytes), tonumber(newest)
end

local function is_pending(parts) return string.find(parts, "[1bm]") ~= nil end

-- Adds the score and member of an entry: one pair, or, if its due time is a list, one for each record of a block.
local function members_of(entry, due, rest, add)
  if not string.find(due, ",", 1, true) then return add(due, member_of(entry, rest)) end
  local i = 0
  for one in string.gmatch(due, "%d+") do
    add(one, string.format("%012d.%d %s", entry, i, rest))
    i = i + 1
  end
end

-- Adds score, member, score, member ... in chunks that unpack accepts.
local function add_members(key, pairs_)
  for i = 1, #pairs_, 4000 do redis.call("ZADD", key, unpack(pairs_, i, math.min(i + 3999, #pairs_))) end
end
