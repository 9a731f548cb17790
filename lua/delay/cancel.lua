#!lua flags=allow-oom
--[[ delay/cancel: cancel records of one delay ledger before they fire.  The first of delay/cancel and delay/fire wins.

KEYS        1 state  2 ledgers  3 delay state  4 live  5 parts  6 moved  7 repeats
            8 data  stream  the ledger named in ARGV[2]
ARGV        1 topic_id  2 delay ledger
            3.. the records, three each: entry  index  records of the entry
RETURNS     {OK, result ...} for each record: 1 cancelled now, 2 cancelled before, 0 not pending | {UNKNOWN_TOPIC}
COMPLEXITY  O(records)
WRITES      live bits, parts, counters; the payload of an entry that never fired
SOURCE      requirement DD-64
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
--- @include "include/live_bitmap"
--- @include "include/scheduled_entries"
local delay, ledger = KEYS[3], ARGV[2]
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check_counters("The counters of delayed records", delay, "records", "entries", "cancelled", "owed")
local text = redis.call("HGET", KEYS[2], ledger)
local row, reply = text and ledger_row(text), { OK }
local known, moved, gone, over, repeats = {}, {}, {}, {}, {}
local cancelled, entries = 0, 0
live.open(KEYS[4])

for i = 3, #ARGV, 3 do
  local name, index, n = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local entry, answer = tonumber(name), 0
  local parts = known[name] or redis.call("HGET", KEYS[5], name)
  local is_live = row and live.holds(entry)
  if not parts and is_live then parts = string.rep("1", n) end
  local mark = parts and string.sub(parts, index + 1, index + 1)
  if mark == "x" then
    answer = 2
  elseif is_live and string.find(mark, "[1bm]") then
    answer, cancelled = 1, cancelled + 1
    if mark == "m" then moved[#moved + 1] = name .. "." .. ARGV[i + 1] end
    parts = string.sub(parts, 1, index) .. "x" .. string.sub(parts, index + 2)
    known[name] = parts
    if not is_pending(parts) then
      live.clear(entry)
      entries = entries + 1
      row.unlogged = row.unlogged - 1
      if not string.find(parts, "f", 1, true) and redis.call("HEXISTS", KEYS[7], name) == 0 then
        gone[#gone + 1] = "0-" .. name
        row.deleted = row.deleted + 1
        known[name], over[name] = nil, true
      end
    end
    if redis.call("HEXISTS", KEYS[7], name) == 1 then repeats[#repeats + 1] = name end
  elseif row and redis.call("HEXISTS", KEYS[7], "!" .. name) == 1 and not repeats[name] then
    -- It has fired and waits to be scheduled again: end the recurrence.
    answer, repeats[name] = 1, true
    repeats[#repeats + 1] = name
    row.unlogged = row.unlogged - 1
  end
  reply[#reply + 1] = answer
end

for name, parts in pairs(known) do redis.call("HSET", KEYS[5], name, parts) end
for name in pairs(over) do redis.call("HDEL", KEYS[5], name) end
for _, name in ipairs(moved) do redis.call("HDEL", KEYS[6], name) end
for _, name in ipairs(repeats) do
  redis.call("HDEL", KEYS[7], name)
  if redis.call("HDEL", KEYS[7], "!" .. name) == 1 then redis.call("HINCRBY", delay, "owed", "-1") end
end
for _, id in ipairs(gone) do redis.call("XDEL", KEYS[8], id) end
if row then redis.call("HSET", KEYS[2], ledger, ledger_text(row)) end
live.save()
if cancelled > 0 then
  redis.call("HINCRBY", delay, "records", whole(-cancelled))
  redis.call("HINCRBY", delay, "entries", whole(-entries))
  redis.call("HINCRBY", delay, "cancelled", whole(cancelled))
end
return reply
