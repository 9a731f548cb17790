-- Which consumer of a key_shared subscription gets a key: 256 slots, divided evenly among the consumers with a session.
--     cursor  slots          one byte for each slot: the place of its consumer in `members`
--             members        "c1 c2 c3", in the order in which they joined
--             members_until  ms at which the first of their sessions ends: then they are compared again
-- A consumer that joins gets slots of those that have most; one that leaves gives its own to those that have fewest.  No
-- other slot moves (Pulsar's sticky hash ranges).
local slots = { COUNT = 256, MEMBERS_MAX = 200 }

-- Divides the slots anew.  text: as stored.  before, after: names.  Returns the new text.
function slots.divide(text, before, after)
  local index, count, owner, order, most = {}, {}, {}, {}, {}
  for i, name in ipairs(after) do index[name], count[i], order[i] = i, 0, i end
  for slot = 1, slots.COUNT do
    local i = index[before[string.byte(text, slot) or 0]]
    if i then owner[slot], count[i] = i, count[i] + 1 end
  end
  table.sort(order, function(a, b) return count[a] > count[b] or (count[a] == count[b] and a < b) end)
  local base, extra = math.floor(slots.COUNT / #after), slots.COUNT % #after
  for place, i in ipairs(order) do most[i] = base + (place <= extra and 1 or 0) end
  for slot = 1, slots.COUNT do
    local i = owner[slot]
    if i and count[i] > most[i] then owner[slot], count[i] = nil, count[i] - 1 end
  end
  local place = 1
  for slot = 1, slots.COUNT do
    if not owner[slot] then
      while count[order[place]] >= most[order[place]] do place = place + 1 end
      owner[slot], count[order[place]] = order[place], count[order[place]] + 1
    end
    owner[slot] = string.char(owner[slot])
  end
  return table.concat(owner)
end

-- Returns the consumer's slots, ascending, and fields of the cursor to write; nil if there are too many consumers.
function slots.of(cursor, consumer, now, session)
  local stored = redis.call("HMGET", cursor, "slots", "members", "members_until")
  local text, before, place, row = stored[1] or "", {}, nil, {}
  for name in string.gmatch(stored[2] or "", "%S+") do
    before[#before + 1] = name
    if name == consumer then place = #before end
  end
  if not place or now >= tonumber(stored[3] or 0) then
    local after, ends, is_in = {}, now + session, false
    for _, member in ipairs(consumers.all(cursor)) do
      if member.name == consumer then
        after[#after + 1], is_in = consumer, true
      elseif member.ends > now then
        after[#after + 1], ends = member.name, math.min(ends, member.ends)
      end
    end
    if not is_in then after[#after + 1] = consumer end
    if #after > slots.MEMBERS_MAX then return nil end
    local names = table.concat(after, " ")
    if names ~= stored[2] then text = slots.divide(text, before, after) end
    for i, name in ipairs(after) do
      if name == consumer then place = i end
    end
    row = { "slots", text, "members", names, "members_until", string.format("%d", ends) }
  end
  local own = {}
  for slot = 0, slots.COUNT - 1 do
    if string.byte(text, slot + 1) == place then own[#own + 1] = slot end
  end
  return own, row
end
