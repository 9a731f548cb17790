-- Ends the transactions of a call that are decided, and completes those that have ended everywhere (txn/apply_and_end).
-- Uses of the script: txns, finished, replies, complete, reply_ended, is_wide, end_transactions.
local at_once = {}
at_once.last, at_once.wanted, at_once.places, at_once.ordered = last_op + 2, {}, {}, {}

-- Reads the transactions to end and the places, which follow the operations in ARGV.
function at_once.read()
  local at, key = at_once.last + 1, 14
  for i = 1, tonumber(ARGV[14]) do
    at_once.wanted[i] = { serial = ARGV[at], pid = ARGV[at + 1], number = ARGV[at + 2] }
    at = at + 3
  end
  for i = 1, tonumber(ARGV[15]) do
    local count, subs = tonumber(ARGV[at + 3]), {}
    for n = 1, count do subs[ARGV[at + 3 + n]] = format("%d", n - 1) end
    local place = { number = i - 1, topic_id = ARGV[at + 1], channel = ARGV[at + 2], subs = subs, key = key, args = {}, ends = {}, uses = {} }
    place.last = key + 11 + 6 * count
    at_once.places[ARGV[at]], at_once.ordered[i] = place, place
    at, key = at + 4 + count, place.last + 1
  end
end

-- Returns the places of a transaction, each with the indexes of its subscriptions, and for each participant its place and
-- the number of its subscription there, 0 for the partition; nil if it cannot be ended by this call.
function at_once.places_of(serial, txn)
  if is_wide(txn) then return nil end
  local found, listed, words = {}, {}, {}
  for word in gmatch(txn.participants, "%S+") do
    local name, sub_name = match(word, "^([^/]+/[^/]+/[^/]+)/?(.*)$")
    local place = at_once.places[name]
    local index = place and place.subs[sub_name]
    if not place or (sub_name ~= "" and not index) then return nil end
    if not listed[name] then
      local aside = redis.call("HGET", KEYS[place.key + 10], ARGV[11] .. "-" .. serial)
      if aside and sub(aside, 1, 1) == "O" then return nil end -- delay/settle is still to come
      listed[name] = { place = place, subs = {} }
      found[#found + 1] = listed[name]
    end
    if index then listed[name].subs[#listed[name].subs + 1] = index end
    words[#words + 1] = { at = listed[name], number = index and #listed[name].subs or 0 }
  end
  return found, words
end

-- Whether the producer id is that of the transaction: the records of one that a Kafka producer has begun carry the id of
-- its transactional id, and a call that names it by its serial does not know that.
function at_once.is_of(each, txn)
  return each.number == (match(txn.fixed, " @(%d+):%d+:%S+$") or each.serial)
end

function at_once.add(each, txn, where, watermark)
  local number, epoch = match(txn.fixed, " @(%d+):(%d+):%S+$")
  each.commit, each.epoch = txn.state == "C" and "1" or "0", epoch or "0"
  for _, at in ipairs(where) do
    local ends, args = at.place.ends, at.place.args
    ends[#ends + 1], at.place.uses[#ends + 1] = each, at
    for _, arg in ipairs({ each.pid, ARGV[11], each.serial, each.commit, watermark, number and "0" or "1", format("%d", #at.subs) }) do
      args[#args + 1] = arg
    end
    for _, index in ipairs(at.subs) do args[#args + 1] = index end
  end
end

-- Ends the transactions of a place.  An error there must not keep the decision from being written.
function at_once.end_at(place, room, leftovers, markers)
  local args = { place.topic_id, ARGV[1], ARGV[12], format("%d", #place.ends), place.channel }
  for _, arg in ipairs(place.args) do args[#args + 1] = arg end
  local keys = {}
  for k = place.key, place.last do keys[#keys + 1] = KEYS[k] end
  local is_done, reply, left = pcall(end_transactions, keys, args, room, leftovers)
  for i, each in ipairs(place.ends) do
    local marker, used = match(is_done and reply[i + 1] or "", "^(%S+) ?(.*)$")
    place.uses[i].used = {}
    for ms in gmatch(used or "", "[^,]+") do table.insert(place.uses[i].used, ms) end
    if not is_done or marker == "more" then
      each.is_left = true
    elseif marker and marker ~= "-1" then
      for _, field in ipairs({ format("%d", place.number), each.pid, each.epoch, each.commit, marker }) do
        markers[#markers + 1] = field
      end
    end
  end
  return is_done and left or 0
end

-- When each of the first participants was used and ended (include/trace).
function at_once.traced(words)
  local parts = {}
  for n = 1, math.min(#words, trace.MAX) do
    parts[n] = (words[n].at.used[words[n].number + 1] or "_") .. "," .. ARGV[1]
  end
  return table.concat(parts, ";")
end

-- An operation that decided a transaction which has ended by now is answered as its repetition will be.
function at_once.answer()
  for i = first_op, last_op, 3 do
    local n, name, subject = (i - first_op) / 3 + 1, ARGV[i], ARGV[i + 1]
    local reply = replies[n]
    if name == "end" and finished[subject] and reply[1] == OK then
      replies[n] = reply_ended(name, outcomes[subject], ARGV[i + 2])
    elseif name == "end_by_id" and reply[4] and finished[reply[4]] then
      replies[n] = { OK, reply[2], reply[3] }
    end
  end
end

-- Returns the outcome of each transaction to end, "" if it has not ended here, and the markers.
local function end_at_once()
  at_once.read()
  local ended, markers = {}, {}
  local oldest = redis.call("ZRANGEBYLEX", KEYS[3], "(", "+", "LIMIT", "0", "1")[1]
  local watermark = oldest and tonumber(oldest) - 1 or -1
  local mark = watermark >= 0 and format("%d", watermark) or ""
  local seen = {}
  for _, each in ipairs(at_once.wanted) do
    local txn = not seen[each.serial] and txns[each.serial]
    local is_possible, where = txn and txn.state ~= "O" and at_once.is_of(each, txn), nil
    if is_possible then where, each.words = at_once.places_of(each.serial, txn) end
    if where then at_once.add(each, txn, where, mark) end
    each.is_left, seen[each.serial] = not where, true
  end
  local room, leftovers = ROOM, math.ceil(LEFTOVERS / math.max(#at_once.ordered, 1))
  for _, place in ipairs(at_once.ordered) do
    if #place.ends > 0 then room = at_once.end_at(place, room, leftovers, markers) end
  end
  for i, each in ipairs(at_once.wanted) do
    ended[i] = ""
    if not each.is_left and complete(each.serial, txns[each.serial], at_once.traced(each.words))[2] ~= "more" then
      ended[i] = each.commit == "1" and "C" or "A"
      is_decided_here = true
    end
  end
  if is_decided_here then at_once.answer() end
  return ended, markers
end
