-- A set of numbers from 0 to 8191: the acknowledged offsets of a chunk, or the chunks without any other offset.
--     runs     {first, last, first, last, ...}, ascending, with a gap between any two; or
--     bits     a bitmap of 1024 bytes, most significant bit first
--     adds     ranges to be added, ascending; sets.settle does it
--     changed  whether it differs from what is stored
-- Few runs are a list, more a bitmap.  An acknowledgement in between cuts a lease, which costs more than a kilobyte of
-- bits long before a chunk has 32 runs; and a list is read and written whole.
-- A list is stored as the length of each stretch in turn, beginning with one of absent numbers: seven bits in a byte, lowest
-- first, and the eighth if more follow.  So it has at most 128 bytes, and anything longer is a bitmap.
local RUNS_MAX, RUNS_FEW, LIST_BYTES_MAX, BITMAP_BYTES = 32, 16, 128, 1024
local sets = {}

local function length_text(length)
  if length < 128 then return string.char(length) end
  return string.char(length % 128 + 128, math.floor(length / 128))
end

function sets.encode(runs)
  local parts, at = {}, 0
  for i = 1, #runs, 2 do
    parts[i], parts[i + 1] = length_text(runs[i] - at), length_text(runs[i + 1] - runs[i] + 1)
    at = runs[i + 1] + 1
  end
  return table.concat(parts)
end

function sets.decode(text)
  local runs, at, length, scale, is_run = {}, 0, 0, 1, false
  for i = 1, #text do
    local byte = string.byte(text, i)
    length = length + byte % 128 * scale
    if byte >= 128 then
      scale = scale * 128
    else
      if is_run then runs[#runs + 1], runs[#runs + 2] = at, at + length - 1 end
      at, length, scale, is_run = at + length, 0, 1, not is_run
    end
  end
  return runs
end

-- Returns a set of what is stored, either a list or a bitmap of any length; nil: nothing.
function sets.of(text)
  if not text then return { runs = {}, adds = {} } end
  if #text <= LIST_BYTES_MAX then return { runs = sets.decode(text), adds = {} } end
  return { bits = sets.wide(text), adds = {} }
end

function sets.wide(bits) return bits .. string.rep("\0", BITMAP_BYTES - #bits) end

-- Returns what to store.
function sets.text(set) return set.bits or sets.encode(set.runs) end

-- Adds the numbers a to b.
function sets.add(set, a, b)
  local adds = set.adds
  if #adds > 0 and a <= adds[#adds] then
    sets.settle(set)
    adds = set.adds
  end
  adds[#adds + 1], adds[#adds + 2] = a, b
  set.changed = true
end

-- Returns the union of two lists of ranges, each ascending, as runs.
function sets.union(some, others)
  local runs, i, j = {}, 1, 1
  while some[i] or others[j] do
    local first, last
    if some[i] and not (others[j] and others[j] < some[i]) then
      first, last, i = some[i], some[i + 1], i + 2
    else
      first, last, j = others[j], others[j + 1], j + 2
    end
    local n = #runs
    if n > 0 and first <= runs[n] + 1 then
      runs[n] = math.max(runs[n], last)
    else
      runs[n + 1], runs[n + 2] = first, last
    end
  end
  return runs
end

-- Returns the bitmap with the bits of ascending ranges set as well, and whether a byte of it is complete now.
function sets.cover(bits, ranges)
  local parts, at, open, byte, is_complete = {}, 1, nil, 0, false -- bytes before `at` are in parts; `byte` is that at `open`
  for k = 1, #ranges, 2 do
    local a, b = ranges[k], ranges[k + 1]
    local i, j = math.floor(a / 8) + 1, math.floor(b / 8) + 1
    local head, tail = bit.rshift(255, a % 8), bit.band(bit.lshift(255, 7 - b % 8), 255)
    if open ~= i then
      if open then
        parts[#parts + 1], at = string.char(byte), open + 1
        is_complete = is_complete or byte == 255
      end
      if at < i then parts[#parts + 1] = string.sub(bits, at, i - 1) end
      open, byte = i, string.byte(bits, i)
    end
    if i == j then
      byte = bit.bor(byte, bit.band(head, tail))
    else
      parts[#parts + 1] = string.char(bit.bor(byte, head)) .. string.rep("\255", j - i - 1)
      open, byte, is_complete = j, bit.bor(string.byte(bits, j), tail), true
    end
  end
  parts[#parts + 1] = string.char(byte) .. string.sub(bits, open + 1)
  return table.concat(parts), is_complete or byte == 255
end

-- Returns the runs of a bitmap; nil if there are more than `most`.
function sets.runs(bits, most)
  local runs, i, open = {}, 1, nil
  while i <= #bits do
    local byte, base = string.byte(bits, i), 8 * i - 8
    if byte == 0 then
      if open then runs[#runs + 1], runs[#runs + 2], open = open, base - 1, nil end
      i = string.find(bits, "[^%z]", i + 1) or #bits + 1
    elseif byte == 255 then
      open = open or base
      i = string.find(bits, "[^\255]", i + 1) or #bits + 1
    else
      for at = base, base + 7 do
        if byte >= 128 then
          open = open or at
        elseif open then
          runs[#runs + 1], runs[#runs + 2], open = open, at - 1, nil
        end
        byte = byte * 2 % 256
      end
      i = i + 1
    end
    if #runs > 2 * most then return nil end
  end
  if open then runs[#runs + 1], runs[#runs + 2] = open, 8 * #bits - 1 end
  return #runs <= 2 * most and runs or nil
end

-- Adds what is to be added, and chooses the form.
function sets.settle(set)
  local adds = set.adds
  if #adds == 0 then return end
  if set.runs then
    local runs = sets.union(set.runs, adds)
    if #runs <= 2 * RUNS_MAX then
      set.runs = runs
    else
      set.runs, set.bits = nil, sets.cover(sets.wide(""), runs)
    end
  else
    local bits, is_complete = sets.cover(set.bits, adds)
    set.bits, set.runs = bits, is_complete and sets.runs(bits, RUNS_FEW) or nil
    if set.runs then set.bits = nil end
  end
  set.adds = {}
end

-- Returns the first number from `at` on that is not in the set; 8192 if all are.
function sets.absent(set, at)
  sets.settle(set)
  local runs, bits = set.runs, set.bits
  if runs then
    for i = 1, #runs, 2 do
      if at < runs[i] then return at end
      if at <= runs[i + 1] then return runs[i + 1] + 1 end
    end
    return at
  end
  local i = math.floor(at / 8) + 1
  local byte = bit.bor(string.byte(bits, i), bit.band(bit.bnot(bit.rshift(255, at % 8)), 255))
  if byte == 255 then
    i = string.find(bits, "[^\255]", i + 1)
    if not i then return 8 * BITMAP_BYTES end
    byte = string.byte(bits, i)
  end
  local found = 8 * i - 8
  while byte >= 128 do
    byte, found = byte * 2 % 256, found + 1
  end
  return found
end

-- Returns the first number from `at` on that is in the set; 8192 if none is.
function sets.present(set, at)
  sets.settle(set)
  local runs, bits = set.runs, set.bits
  if runs then
    for i = 1, #runs, 2 do
      if at <= runs[i + 1] then return math.max(at, runs[i]) end
    end
    return 8 * BITMAP_BYTES
  end
  local i = math.floor(at / 8) + 1
  local byte = bit.band(string.byte(bits, i), bit.rshift(255, at % 8))
  if byte == 0 then
    i = string.find(bits, "[^%z]", i + 1)
    if not i then return 8 * BITMAP_BYTES end
    byte = string.byte(bits, i)
  end
  local found = 8 * i - 8
  while byte < 128 do
    byte, found = byte * 2, found + 1
  end
  return found
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

-- Returns how many of the numbers a to b are in the set.
function sets.count(set, a, b)
  sets.settle(set)
  local count, runs, bits = 0, set.runs, set.bits
  if runs then
    for i = 1, #runs, 2 do count = count + math.max(math.min(runs[i + 1], b) - math.max(runs[i], a) + 1, 0) end
    return count
  end
  local i, j = math.floor(a / 8) + 1, math.floor(b / 8) + 1
  for at = i, j do
    local byte = string.byte(bits, at)
    if at == i then byte = bit.band(byte, bit.rshift(255, a % 8)) end
    if at == j then byte = bit.band(byte, bit.lshift(255, 7 - b % 8)) end
    count = count + ones(byte)
  end
  return count
end
