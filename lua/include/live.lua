-- The live bits of scheduled entries: 4096 to a chunk, entry e at bit e % 4096, the least significant bit of a byte first.
-- A chunk that is absent is all zero.  Changes are made in memory; live.save writes them.
local live = { chunks = {}, changed = {} }
local LIVE_CHUNK, LIVE_BYTES = 4096, 512

function live.open(key) live.key = key end

local function live_chunk(c)
  local bits = live.chunks[c]
  if bits == nil then
    bits = redis.call("HGET", live.key, whole(c)) or string.rep("\0", LIVE_BYTES)
    live.chunks[c] = bits
  end
  return bits
end

local function live_put(c, at, byte)
  local bits = live_chunk(c)
  live.chunks[c] = string.sub(bits, 1, at) .. string.char(byte) .. string.sub(bits, at + 2)
  live.changed[c] = true
end

function live.holds(entry)
  local o = entry % LIVE_CHUNK
  local byte = string.byte(live_chunk((entry - o) / LIVE_CHUNK), math.floor(o / 8) + 1)
  return bit.band(byte, 2 ^ (o % 8)) ~= 0
end

function live.clear(entry)
  local o = entry % LIVE_CHUNK
  local c, at = (entry - o) / LIVE_CHUNK, math.floor(o / 8)
  live_put(c, at, bit.band(string.byte(live_chunk(c), at + 1), bit.bnot(2 ^ (o % 8))))
end

-- Sets the bits of entries first to last.  Cost: O(bytes touched).
function live.fill(first, last)
  while first <= last do
    local o = first % LIVE_CHUNK
    local c, at = (first - o) / LIVE_CHUNK, math.floor(o / 8)
    local whole_bytes = math.floor((math.min(last + 1, first - o + LIVE_CHUNK) - first) / 8)
    if o % 8 == 0 and whole_bytes > 0 then
      local bits = live_chunk(c)
      live.chunks[c] = string.sub(bits, 1, at) .. string.rep("\255", whole_bytes) .. string.sub(bits, at + whole_bytes + 1)
      live.changed[c] = true
      first = first + 8 * whole_bytes
    else
      live_put(c, at, bit.bor(string.byte(live_chunk(c), at + 1), 2 ^ (o % 8)))
      first = first + 1
    end
  end
end

function live.save()
  for c in pairs(live.changed) do
    if string.find(live.chunks[c], "[^%z]") then
      redis.call("HSET", live.key, whole(c), live.chunks[c])
    else
      redis.call("HDEL", live.key, whole(c))
    end
  end
end
