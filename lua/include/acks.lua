-- Acknowledged offsets of a subscription beyond the mark.
--     acks  offset // 8192 → bitmap, most significant bit first
local CHUNK = cursors.CHUNK

function cursors.chunk(c, n)
  if not c.chunks[n] then c.chunks[n] = redis.call("HGET", c.acks, cursors.whole(n)) or "" end
  return c.chunks[n]
end

-- Returns the bitmap with bits a to b set as well.
function cursors.cover(bits, a, b)
  local i, j = math.floor(a / 8) + 1, math.floor(b / 8) + 1
  if #bits < j then bits = bits .. string.rep("\0", j - #bits) end
  local head, tail = bit.rshift(255, a % 8), bit.band(bit.lshift(255, 7 - b % 8), 255)
  if i == j then
    return string.sub(bits, 1, i - 1) .. string.char(bit.bor(string.byte(bits, i), bit.band(head, tail))) .. string.sub(bits, i + 1)
  end
  return string.sub(bits, 1, i - 1) .. string.char(bit.bor(string.byte(bits, i), head)) .. string.rep("\255", j - i - 1)
    .. string.char(bit.bor(string.byte(bits, j), tail)) .. string.sub(bits, j + 1)
end

-- Acknowledges offsets first to last, which are neither leased nor pending.  Call in ascending order.
function cursors.delete(c, first, last)
  if first <= c.mark then
    c.mark = math.max(c.mark, last + 1)
    return
  end
  while first <= last do
    local n = math.floor(first / CHUNK)
    local stop = math.min(last, n * CHUNK + CHUNK - 1)
    c.chunks[n] = cursors.cover(cursors.chunk(c, n), first - n * CHUNK, stop - n * CHUNK)
    first = stop + 1
  end
end

-- Returns the first offset from `at` on whose bit is not set.
function cursors.unset(c, at)
  while true do
    local n = math.floor(at / CHUNK)
    local bits, from = cursors.chunk(c, n), at - n * CHUNK
    local i = math.floor(from / 8) + 1
    local byte = bit.bor(string.byte(bits, i) or 0, bit.band(bit.bnot(bit.rshift(255, from % 8)), 255))
    if byte == 255 then
      i = string.find(bits, "[^\255]", i + 1) or math.max(#bits, i) + 1
      byte = string.byte(bits, i) or 0
    end
    if i <= CHUNK / 8 then
      local offset = n * CHUNK + (i - 1) * 8
      while byte >= 128 do
        byte, offset = byte * 2 % 256, offset + 1
      end
      return offset
    end
    at = (n + 1) * CHUNK
  end
end

-- Returns the number of bits set in a byte.  A table of all bytes would cost each call more than it saves in most.
local known_ones = {}
local function ones(byte)
  local count, rest = known_ones[byte], byte
  if count then return count end
  count = 0
  while rest > 0 do
    rest, count = math.floor(rest / 2), count + rest % 2
  end
  known_ones[byte] = count
  return count
end

-- Returns how many of the offsets first to last are acknowledged.
function cursors.acked(c, first, last)
  local count = math.max(math.min(last + 1, c.mark) - first, 0)
  first = math.max(first, c.mark)
  c.looked = c.looked or {}
  while first <= last do
    local n = math.floor(first / CHUNK)
    local stop, bits = math.min(last, n * CHUNK + CHUNK - 1), c.chunks[n] or c.looked[n]
    if not bits then
      bits = redis.call("HGET", c.acks, cursors.whole(n)) or ""
      c.looked[n] = bits
    end
    local from, to = first - n * CHUNK, stop - n * CHUNK
    local i, j = math.floor(from / 8) + 1, math.floor(to / 8) + 1
    for at = i, math.min(j, #bits) do
      local byte = string.byte(bits, at)
      if at == i then byte = bit.band(byte, bit.rshift(255, from % 8)) end
      if at == j then byte = bit.band(byte, bit.lshift(255, 7 - to % 8)) end
      count = count + ones(byte)
    end
    first = stop + 1
  end
  return count
end
