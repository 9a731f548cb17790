#!lua flags=allow-oom
--[[ delay/fire: make scheduled entries that are due visible: write their log entries, ordered by (due time, entry).

No payload is moved: a log entry points into the delay ledger.  The clock of this server decides what is due.  Entries due
at or after the first entry of an unloaded segment (the horizon) wait for it, so the order holds across buckets.
An index entry whose live bit is 0 was fired or cancelled before and is skipped.

KEYS        1 state  2 ledgers  3 log  4 delay state  5 open  6 closing  7 queue  8 live  9 parts  10 moved  11 next  12 repeats
ARGV        1 topic_id  2 most index entries to take  3 now_ms ("" the server's clock: brokers pass this)
            4 channel to publish to (leader epoch, next offset, stable offset)
RETURNS     {OK, now_ms, index entries taken, records fired, first due left (-1 none), due of the horizon (-1 none), bucket of the
            horizon, decided transactions, entries that fired and repeat, entries in the open bucket, delay ledger, closing,
            entries fired, their summed lateness in ms, entries in the queue, buckets with unloaded segments}
            | {OK, now_ms} if no record was ever scheduled here | {UNKNOWN_TOPIC}
COMPLEXITY  O(n log m) for n entries of m
WRITES      log entries, live bits, counters; the sorted sets lose what was taken
SOURCE      PIP-195 "getScheduledMessages"; docs/decisions/0012
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
--- @include "include/live_bitmap"
--- @include "include/scheduled_entries"
local state, ledgers, delay = KEYS[1], KEYS[2], KEYS[4]
local held = redis.call("HMGET", state, "topic_id", "next", "stable", "epoch", "newest", "bytes")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local now = tonumber(ARGV[3])
if not now then
  local time = redis.call("TIME")
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
local own = redis.call("HMGET", delay, "ledger", "open", "closing", "decided", "owed")
if not own[1] then return { OK, whole(now) } end
stored.check("The state of the partition", { held[2], held[3], held[4], held[5], held[6] or "0", own[5] or "0" })
stored.check_counters("The counters of delayed records", delay, "records", "entries", "fired", "owed")
local most, now_text = tonumber(ARGV[2]), whole(now)
local MEMBER = "^0*(%d+)%.?(%d*) (%S+) (%d+) (%d+) (%-?%d+)$" -- see include/scheduled_entries
local SETS = { KEYS[7], KEYS[6], KEYS[5] }

local horizon = redis.call("ZRANGEBYSCORE", KEYS[11], "0", "+inf", "WITHSCORES", "LIMIT", "0", "1")
local horizon_due, horizon_name = tonumber(horizon[2]), horizon[1] and string.sub(horizon[1], 1, 12)
local last_due = math.min(now, horizon_due or now)
local lists, places, taken, sets = {}, {}, {}, {} -- of the sets with due entries
for _, key in ipairs(SETS) do
  local list = redis.call("ZRANGEBYSCORE", key, 0, whole(last_due), "WITHSCORES", "LIMIT", "0", most)
  if list[1] then
    local k = #lists + 1
    lists[k], places[k], taken[k], sets[k] = list, 1, {}, key
  end
end

-- Returns the next entry of the lists that may fire: member, due.
local function following()
  local best, member, due
  for k = 1, #lists do
    local m = lists[k][places[k]]
    if m then
      local d = tonumber(lists[k][places[k] + 1])
      if not best or d < due or (d == due and m < member) then best, member, due = k, m, d end
    end
  end
  if not best or (due == horizon_due and string.sub(member, 1, 12) >= horizon_name) then return nil end
  places[best] = places[best] + 2
  taken[best][#taken[best] + 1] = member
  return member, due
end

live.open(KEYS[8])
local has_parts, has_repeats = redis.call("HLEN", KEYS[9]) > 1, redis.call("HLEN", KEYS[12]) > 1
local next_offset, newest, nothing_open = tonumber(held[2]), tonumber(held[5]), held[2] == held[3]
local rows, rows_of_parts, moved_gone, owed, put_back = {}, {}, {}, {}, {}
-- The log entries to write, field by field: a table for each would cost as much as its XADD.
local lasts, bases, in_ledgers, names, counts, sizes, kepts, stamps = {}, {}, {}, {}, {}, {}, {}, {}
local writes, newest_text = 0, held[5]
local count, records, entries, bytes, lateness = 0, 0, 0, 0, 0

local function row_of(ledger)
  if not rows[ledger] then rows[ledger] = ledger_row(redis.call("HGET", ledgers, ledger)) end
  return rows[ledger]
end

-- Returns the marked records of an entry as ranges, "0-3,5", and their number.
local function ranges_of(parts, mark)
  local found, n, from = {}, 0, nil
  for i = 1, #parts + 1 do
    local is_marked = string.sub(parts, i, i) == mark
    if is_marked then n, from = n + 1, from or i - 1 end
    if from and not is_marked then
      found[#found + 1] = from == i - 2 and whole(from) or whole(from) .. "-" .. whole(i - 2)
      from = nil
    end
  end
  return table.concat(found, ","), n
end

-- Returns the records of an entry that become visible now: nothing, or their number and (unless it is all of them) their
-- ranges.  The entry is finished when none of its records is pending.  An index entry is ignored if its record was moved
-- or scheduled again since; the record's own due time is compared last, since an index may hold nothing else of it.
local function to_fire(entry, index, due, n)
  local parts = has_parts and (rows_of_parts[entry] or redis.call("HGET", KEYS[9], whole(entry)))
  if not parts and index ~= "" then return 0 end
  if not parts then
    local repeats = has_repeats and redis.call("HGET", KEYS[12], whole(entry))
    local own = repeats and tonumber(string.match(repeats, "^(%d+) "))
    if own and own ~= due then return 0, nil, false, own end
    return n, nil, true
  end
  local fired, kept
  if index == "" then
    kept, fired = ranges_of(parts, "1")
    parts = string.gsub(parts, "1", "f")
  else
    local i, name = tonumber(index), whole(entry) .. "." .. index
    local mark = string.sub(parts, i + 1, i + 1)
    if mark == "m" then
      local own = tonumber(redis.call("HGET", KEYS[10], name))
      if own ~= due then return 0, nil, false, own end
      moved_gone[name] = true
    elseif mark ~= "b" then
      return 0
    end
    kept, fired = index, 1
    parts = string.sub(parts, 1, i) .. "f" .. string.sub(parts, i + 2)
  end
  if fired == 0 then return 0 end
  rows_of_parts[entry] = parts
  return fired, fired < n and kept or nil, not is_pending(parts)
end

while count < most do
  local member, due = following()
  if not member then break end
  count = count + 1
  local name, index, ledger, n_text, size_text, stamp = string.match(member, MEMBER)
  local entry, n, size = tonumber(name), tonumber(n_text), tonumber(size_text)
  if live.holds(entry) then
    local fired, kept, is_over, own = n, nil, true, nil
    if has_parts or has_repeats or index ~= "" then fired, kept, is_over, own = to_fire(entry, index, due, n) end
    if own then put_back[#put_back + 1], put_back[#put_back + 2] = whole(own), member end
    if fired > 0 then
      local base = whole(next_offset)
      next_offset = next_offset + fired
      if tonumber(stamp) > newest then newest, newest_text = tonumber(stamp), stamp end
      if kept then
        size = math.ceil(size * fired / n) + 61
        n_text, size_text = whole(fired), whole(size)
      end
      writes = writes + 1
      lasts[writes], bases[writes] = (fired == 1 and base or whole(next_offset - 1)) .. "-1", base
      in_ledgers[writes], names[writes], counts[writes], sizes[writes] = ledger, name, n_text, size_text
      kepts[writes], stamps[writes] = kept, newest_text
      records, bytes, lateness = records + fired, bytes + size, lateness + (now - due)
      local row = row_of(ledger)
      row.max = next_offset - 1
      if is_over then
        live.clear(entry)
        entries = entries + 1
        if has_repeats and redis.call("HEXISTS", KEYS[12], name) == 1 then
          owed[#owed + 1] = { name, whole(due) .. " " .. member_of(entry, string.match(member, "^%S+ (.*)$")) }
        else
          row.unlogged = row.unlogged - 1
        end
      end
    end
  end
end

local call, log = redis.call, KEYS[3]
for i = 1, writes do
  if kepts[i] then
    call("XADD", log, lasts[i], "l", in_ledgers[i], "e", names[i], "b", bases[i], "n", counts[i], "s", sizes[i], "p", "-1",
      "v", "-1", "q", "-1", "f", "8", "t", now_text, "m", stamps[i], "x", kepts[i])
  else
    call("XADD", log, lasts[i], "l", in_ledgers[i], "e", names[i], "b", bases[i], "n", counts[i], "s", sizes[i], "p", "-1",
      "v", "-1", "q", "-1", "f", "0", "t", now_text, "m", stamps[i])
  end
end
for k, members in ipairs(taken) do
  for i = 1, #members, 4000 do redis.call("ZREM", sets[k], unpack(members, i, math.min(i + 3999, #members))) end
end
add_members(KEYS[7], put_back)
for ledger, row in pairs(rows) do redis.call("HSET", ledgers, ledger, ledger_text(row)) end
for entry, parts in pairs(rows_of_parts) do
  if is_pending(parts) or string.find(parts, "x", 1, true) then
    redis.call("HSET", KEYS[9], whole(entry), parts)
  else
    redis.call("HDEL", KEYS[9], whole(entry))
  end
end
for name in pairs(moved_gone) do redis.call("HDEL", KEYS[10], name) end
if #owed > 0 then redis.call("HINCRBY", delay, "owed", whole(#owed)) end
for _, o in ipairs(owed) do redis.call("HSET", KEYS[12], "!" .. o[1], o[2]) end
live.save()
if records > 0 then
  redis.call("HINCRBY", delay, "records", whole(-records))
  redis.call("HINCRBY", delay, "entries", whole(-entries))
  redis.call("HINCRBY", delay, "fired", whole(records))
  local following_offset, stable = whole(next_offset), nothing_open and whole(next_offset) or held[3]
  log_grew(state, ARGV[4], held[4], following_offset, stable, newest_text, whole(tonumber(held[6] or 0) + bytes))
end
local first = -1
for _, key in ipairs(SETS) do
  local head = tonumber(redis.call("ZRANGEBYSCORE", key, "0", "+inf", "WITHSCORES", "LIMIT", "0", "1")[2])
  if head and (first < 0 or head < first) then first = head end
end
return {
  OK, now_text, count, records, whole(first), whole(horizon_due or -1), horizon[1] or "", own[4],
  #owed + tonumber(own[5] or 0), own[2], own[1], own[3],
  writes, whole(lateness), redis.call("ZCARD", KEYS[7]) - 1, redis.call("ZCARD", KEYS[11]) - 1,
}
