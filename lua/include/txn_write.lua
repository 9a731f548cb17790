-- Writes what the operations of a call changed (txn/apply), and packs their replies.  Log records of finished transactions are dead: their bits in `live`
-- become 0, and an entry without live records is deleted.
wide.save()
local stale, stale_bits = {}, {}
for _, positions in ipairs(dying) do
  for e, i in gmatch(positions, "(%d+):(%d+)") do
    local ahead = tonumber(e) - last_entry -- above 0: an entry of this call
    if ahead > 0 then
      bits[batched and tonumber(i) or ahead] = "0"
    else
      local dead = stale_bits[e]
      if not dead then
        dead = {}
        stale[#stale + 1], stale_bits[e] = e, dead
      end
      dead[#dead + 1] = tonumber(i)
    end
  end
end
if #stale > 0 then
  local rows, kept, gone = hmget_chunked(KEYS[10], stale), {}, {}
  for n, e in ipairs(stale) do
    if rows[n] then
      local between, at = {}, 1
      table.sort(stale_bits[e])
      for k, i in ipairs(stale_bits[e]) do
        between[k], at = string.sub(rows[n], at, i - 1), i + 1
      end
      between[#between + 1] = string.sub(rows[n], at)
      local left = table.concat(between, "0")
      if find(left, "1", 1, true) then
        kept[#kept + 1], kept[#kept + 2] = e, left
      else
        gone[#gone + 1] = e
      end
    end
  end
  call_chunked("HSET", KEYS[10], kept)
  call_chunked("HDEL", KEYS[10], gone)
  for n, e in ipairs(gone) do gone[n] = e .. "-1" end
  call_chunked("XDEL", KEYS[9], gone)
end

local live, logged = table.concat(bits), held[2]
if find(live, "1", 1, true) then
  if batched then
    redis.call("XADD", KEYS[9], entry .. "-1", "r", "\14\1\0\1" .. table.concat(records))
    redis.call("HSET", KEYS[10], entry, live)
  else
    for n = 1, count do
      if bits[n] == "1" then
        entry = format("%d", last_entry + n)
        redis.call("XADD", KEYS[9], entry .. "-1", "r", records[n])
        redis.call("HSET", KEYS[10], entry, "1")
      end
    end
  end
  logged = entry
elseif next(identities_changed) or is_decided_here then
  logged = entry -- every change raises the number: a coordinator whose Redis lost writes is known by it (txn/takeover)
end
if logged ~= held[2] then redis.call("HSET", KEYS[1], "entry", logged) end

local rows, times, ordered = {}, {}, {}
for serial, t in pairs(changed) do
  local n = #rows
  rows[n + 1] = serial
  rows[n + 2] = t.state .. " " .. t.deadline .. " " .. t.fixed .. "|" .. t.positions .. "|" .. t.participants
  if t.is_timed then times[#times + 1], times[#times + 2] = t.deadline, serial end
end
call_chunked("HSET", KEYS[2], rows)
call_chunked("ZADD", KEYS[4], times)
for _, serial in ipairs(fresh) do
  local n = #ordered
  ordered[n + 1], ordered[n + 2] = "0", rep("0", 15 - #serial) .. serial
end
call_chunked("ZADD", KEYS[3], ordered)
call_chunked("HSET", KEYS[7], named)
if #names > 0 then
  local renewed = {}
  for name, id in pairs(identities_changed) do
    renewed[#renewed + 1], renewed[#renewed + 2] = name, identity_text(id)
  end
  call_chunked("HDEL", KEYS[11], identities_gone)
  call_chunked("HSET", KEYS[11], renewed)
end
if next(finished) or next(steps.answered) then outcomes_save(finished) end
local function plus(text, more) return more > 0 and format("%d", tonumber(text) + more) or text end
local following_text = format("%d", following)
if following_text ~= held[1] or committed + aborted + timeout > 0 then
  redis.call("HSET", KEYS[1], "next", following_text, "created", plus(held[3], created), "committed", plus(held[4], committed),
    "aborted", plus(held[5], aborted), "timeout", plus(held[6], timeout))
end
local lowest = redis.call("ZRANGEBYLEX", KEYS[3], "(", "+", "LIMIT", "0", "1")[1] or ""
local packed = cmsgpack.pack(replies)
if allocations > 0 then
  redis.call("HSET", KEYS[8], ARGV[2], call .. " " .. lowest .. " " .. following_text .. "\n" .. packed)
end
