-- Consumers of a subscription: a field "@name" of the cursor hash for each of them, name percent-encoded.
--     "since until unacked delivered redelivered request"   ms at which it joined, ms at which its session ends, counters,
--                  and the last receive that was sent more than once: include/lost_response
-- On partition 0, `since` and `until` are those of its membership; elsewhere, of its last call there.  A field outlives its
-- session while messages are not acknowledged.
local consumers = { MOST = 100, KEPT = 64, KEPT_MAX = 1000 } -- members of a failover subscription; fields of a cursor

function consumers.parse(name, text)
  local since, ends, unacked, delivered, redelivered, request = string.match(text, "^(%d+) (%d+) ?(%d*) ?(%d*) ?(%d*) ?(%S*)")
  return {
    name = name, since = tonumber(since or 0), ends = tonumber(ends or 0), unacked = tonumber(unacked) or 0,
    delivered = tonumber(delivered) or 0, redelivered = tonumber(redelivered) or 0, request = request or "",
  }
end

function consumers.text(m)
  local text = string.format("%d %d %d %d %d", m.since, m.ends, m.unacked, m.delivered, m.redelivered)
  return m.request ~= "" and text .. " " .. m.request or text
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

-- Makes room for one more: removes those whose session is over and who have nothing, and beyond KEPT_MAX the one whose
-- session ends first.
function consumers.make_room(cursor, now)
  if redis.call("HLEN", cursor) <= consumers.KEPT then return end
  local all, gone, oldest = consumers.all(cursor), {}, nil
  for _, member in ipairs(all) do
    if member.ends <= now and member.unacked == 0 then gone[#gone + 1] = "@" .. member.name end
    if not oldest or member.ends < oldest.ends then oldest = member end
  end
  if #all - #gone >= consumers.KEPT_MAX and oldest then gone[#gone + 1] = "@" .. oldest.name end
  if gone[1] then redis.call("HDEL", cursor, unpack(gone)) end
end
