-- Consumers of a subscription: a field "@name" of the cursor hash for each of them, name percent-encoded.
--     "since until unacked delivered redelivered"   ms at which it joined, ms at which its session ends, and counters
-- On partition 0, `since` and `until` are those of its membership; elsewhere, of its last call there.  A field outlives its
-- session while messages are not acknowledged.  Numbers that are missing are 0.
local consumers = { MOST = 100 } -- members of a failover subscription

function consumers.parse(name, text)
  local member = { name = name, numbers = {} }
  for number in string.gmatch(text, "%S+") do member.numbers[#member.numbers + 1] = number end
  member.since, member.ends = tonumber(member.numbers[1] or 0), tonumber(member.numbers[2] or 0)
  member.unacked = tonumber(member.numbers[3] or 0)
  return member
end

function consumers.text(member)
  local numbers = member.numbers
  numbers[1], numbers[2] = string.format("%d", member.since), string.format("%d", member.ends)
  numbers[3] = string.format("%d", member.unacked)
  return table.concat(numbers, " ")
end

-- Returns all of them in the order in which they joined; of those that joined at once, by name.
function consumers.all(cursor)
  local found, fields = {}, redis.call("HGETALL", cursor)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 1) == "@" then found[#found + 1] = consumers.parse(string.sub(fields[i], 2), fields[i + 1]) end
  end
  table.sort(found, function(a, b) return a.since < b.since or (a.since == b.since and a.name < b.name) end)
  return found
end
