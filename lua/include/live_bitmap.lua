-- The live bits of scheduled entries: 4096 to a chunk, entry e at bit e % 4096, the least significant bit of a byte first.
-- A chunk that is absent is all zero.  Changes are made in memory; live.save writes them.
local live = {}
local LIVE_CHUNK, LIVE_BYTES = 4096, 512

function live.open(key) live.key, live.chunks, live.bytes, live.changed = key, {}, {}, {} end

local function live_chunk(c)
  local bits = live.chunks[c]
  if bits == nil then
    bits = redis.call("HGET", live.key, whole(c)) or string.rep("\0", LIVE_BYTES)
    live.chunks[c] = bits
  end
  return bits
end

-- Returns the current byte.  Changed bytes are collected and written into their chunk at the end: copying a string of 512
-- bytes for every bit would cost more than the rest of its entry.
local function live_byte(c, at)
  local bytes = live.bytes[c]
  return bytes and bytes[at] or string.byte(live_chunk(c), at + 1)
end

local function live_put(c, at, byte)
  local bytes = live.bytes[c] or {}
  live.bytes[c] = bytes
  bytes[at] = byte
end

function live.holds(entry)
  local o = entry % LIVE_CHUNK
  return bit.band(live_byte((entry - o) / LIVE_CHUNK, math.floor(o / 8)), 2 ^ (o % 8)) ~= 0
end

function live.clear(entry)
  local o = entry % LIVE_CHUNK
  local c, at = (entry - o) / LIVE_CHUNK, math.floor(o / 8)
  live_put(c, at, bit.band(live_byte(c, at), bit.bnot(2 ^ (o % 8))))
end

-- Writes the collected bytes of a chunk into it.
local function live_flush(c)
  local bytes = live.bytes[c]
  if not bytes then return end
  local bits, order, pieces, from = live_chunk(c), {}, {}, 1
  for at in pairs(bytes) do order[#order + 1] = at end
  table.sort(order)
  for _, at in ipairs(order) do
    if at + 1 > from then pieces[#pieces + 1] = string.sub(bits, from, at) end
    pieces[#pieces + 1] = string.char(bytes[at])
    from = at + 2
  end
  pieces[#pieces + 1] = string.sub(bits, from)
  live.chunks[c], live.bytes[c], live.changed[c] = table.concat(pieces), nil, true
end

-- Sets the bits of entries first to last.  Cost: O(bytes touched).
function live.fill(first, last)
  while first <= last do
    local o = first % LIVE_CHUNK
    local c, at = (first - o) / LIVE_CHUNK, math.floor(o / 8)
    local whole_bytes = math.floor((math.min(last + 1, first - o + LIVE_CHUNK) - first) / 8)
    if o % 8 == 0 and whole_bytes > 0 then
      live_flush(c)
      local bits = live_chunk(c)
      live.chunks[c] = string.sub(bits, 1, at) .. string.rep("\255", whole_bytes) .. string.sub(bits, at + whole_bytes + 1)
      live.changed[c] = true
      first = first + 8 * whole_bytes
    else
      live_put(c, at, bit.bor(live_byte(c, at), 2 ^ (o % 8)))
      first = first + 1
    end
  end
end

function live.save()
  local late = {}
  for c in pairs(live.bytes) do late[#late + 1] = c end
  for _, c in ipairs(late) do live_flush(c) end
  for c in pairs(live.changed) do
    if string.find(live.chunks[c], "[^%z]") then
      redis.call("HSET", live.key, whole(c), live.chunks[c])
    else
      redis.call("HDEL", live.key, whole(c))
    end
  end
end
