-- Participants of a transaction (txn/apply).  The first ones are in its row, which must stay short, since each change
-- rewrites it.  Those beyond 4 KiB are members of a sorted set of the coordinator, with score 0, and the row ends with "+":
--   txns  7 -> "O ...|...|orders/id/0 ... orders/id/99 +"
--   wide  "" "7 orders/id/100" "7 orders/id/101" "9 ..."
-- A decided transaction accepts no new ones, so the broker that ends it reads them page by page (Coordinators.whole).
-- Uses of txn/apply: now, find, gmatch, log, call_chunked.
local INLINE_BYTES, FORGET_MAX = 4096, 1000
local wide = { MORE = "+" }
wide.added, wide.new, wide.gone, wide.room = {}, {}, {}, FORGET_MAX

-- Names are percent-encoded: no participant has a "+" in it.
local function is_wide(txn) return find(txn.participants, wide.MORE, 1, true) ~= nil end

-- Returns those of the words that are in `wide`, as a set.
local function in_wide(serial, words)
  local found = {}
  for i = 1, #words, 1000 do
    local names, last = {}, math.min(i + 999, #words)
    for j = i, last do names[#names + 1] = serial .. " " .. words[j] end
    for j, score in ipairs(redis.call("ZMSCORE", KEYS[13], unpack(names))) do
      if score or wide.added[names[j]] then found[words[i + j - 1]] = true end
    end
  end
  return found
end

-- Returns the words that are not registered yet, each once, in their order.
local function unregistered(serial, txn, words)
  local known, seen, rest, missing = " " .. txn.participants .. " ", {}, {}, {}
  for word in gmatch(words, "%S+") do
    if not seen[word] and not find(known, " " .. word .. " ", 1, true) then rest[#rest + 1] = word end
    seen[word] = true
  end
  if not is_wide(txn) then return rest end
  local found = in_wide(serial, rest)
  for _, word in ipairs(rest) do
    if not found[word] then missing[#missing + 1] = word end
  end
  return missing
end

local function add(serial, txn, added)
  if txn.state ~= "O" then return { TXN_STATUS, txn.state } end
  local partitions, subscriptions, missing = {}, {}, unregistered(serial, txn, added)
  if #missing == 0 then return { OK } end
  local inline, size, more = { txn.participants ~= "" and txn.participants or nil }, #txn.participants, is_wide(txn)
  for _, word in ipairs(missing) do
    local into = find(word, "/.-/.-/") and subscriptions or partitions
    into[#into + 1] = log_participant(word)
    if size < INLINE_BYTES and not more then
      inline[#inline + 1], size = word, size + #word + 1
    else
      if not more then inline[#inline + 1] = wide.MORE end
      more = true
      local member = serial .. " " .. word
      wide.added[member] = true
      wide.new[#wide.new + 1], wide.new[#wide.new + 2] = "0", member
    end
  end
  txn.participants = table.concat(inline, " ")
  if #partitions > 0 then log(ADD_PARTITION, serial, txn, table.concat(partitions), "p" .. #partitions) end
  if #subscriptions > 0 then log(ADD_SUBSCRIPTION, serial, txn, table.concat(subscriptions), "s" .. #subscriptions) end
  return { OK }
end

-- Deletes participants and log records of a finished transaction, as many as a call may; returns whether that was all.
-- The first log record and the last, the decision, stay until the end.
function wide.forget(serial, txn)
  local _, records = string.gsub(txn.positions, ",", "")
  if is_wide(txn) then
    if wide.room <= 0 then return false end
    local range = { "[" .. serial .. " ", "(" .. serial .. "!" } -- ! follows the space
    local members = redis.call("ZRANGEBYLEX", KEYS[13], range[1], range[2], "LIMIT", "0", wide.room)
    for _, member in ipairs(members) do wide.gone[#wide.gone + 1] = member end
    wide.room = wide.room - #members
    if wide.room <= 0 then return false end
  end
  if records <= wide.room or records <= 16 then
    wide.room = wide.room - records
    return true
  end
  if wide.room <= 0 then return false end
  local first, rest = string.match(txn.positions, "^([^,]*,)(.*)$")
  local cut, at = 0, 0
  while cut < wide.room and cut < records - 2 do
    at, cut = find(rest, ",", at + 1, true), cut + 1
  end
  dying[#dying + 1] = string.sub(rest, 1, at)
  -- Without the records of some participants, the steps of the others cannot be found.
  txn.positions = string.gsub(first .. string.sub(rest, at + 1), "/[^,]*", "")
  changed[serial], wide.room = txn, wide.room - cut
  return false
end

function wide.save()
  call_chunked("ZADD", KEYS[13], wide.new)
  call_chunked("ZREM", KEYS[13], wide.gone)
end
