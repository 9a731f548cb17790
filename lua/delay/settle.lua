#!lua flags=allow-oom
--[[ delay/settle: index one batch that a committed transaction had scheduled, or delete that of an aborted one.

txn/end only marks the transaction, in O(1); its batches follow one by one.  A call settles one page of a batch and is
repeated until nothing of it is left.  Entries of a ledger older than the open bucket's go to the queue, so that a sealed
bucket holds whole ledgers.

KEYS        1 state  2 ledgers  3 delay state  4 open  5 queue  6 live  7 parts  8 repeats
            9 data  stream  the batch's delay ledger
ARGV        1 topic_id  2 transaction "coordinator-serial"  3 number of the batch in it
RETURNS     {OK, batches left, [1]} the 1: entries of this batch are left | {UNKNOWN_TOPIC}
COMPLEXITY  O(n log m) for n entries, some 400, and m in the bucket, plus the length of the rest of the batch
WRITES      index, live bits, counters, the rest of the batch; nothing if this batch was settled before
SOURCE      PIP-31 "end transaction"; docs/decisions/0012
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
--- @include "include/live_bitmap"
--- @include "include/scheduled_entries"
local PAGE = 400 -- index entries that one call settles
local delay, txn = KEYS[3], ARGV[2]
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check_counters("The counters of delayed records", delay, "open", "entries", "records", "held")
local mark, chunks, left, records = string.match(redis.call("HGET", delay, txn) or "", "^(%a) (%d+) (%d+) (%d+)$")
local text = redis.call("HGET", delay, txn .. "/" .. ARGV[3])
if not text or (mark ~= "C" and mark ~= "A") then return { OK, tonumber(left or 0) } end
local own = redis.call("HMGET", delay, "first", "open", "decided")
local members, entries, count, ledger = {}, {}, 0, nil
local at, rest = 1, ""
while at <= #text do -- a page ends between two entries
  local stop = string.find(text, "|", at, true) or #text + 1
  local due, member = string.match(string.sub(text, at, stop - 1), "^(%d+) (.+)$")
  local entry, index, l, n = member_parts(member)
  if #members >= 2 * PAGE and entries[#entries] ~= entry then
    rest = string.sub(text, at)
    break
  end
  members[#members + 1], members[#members + 2] = due, member
  if entries[#entries] ~= entry then entries[#entries + 1] = entry end
  count, ledger, at = count + (index == "" and n or 1), l, stop + 1
end
local row = ledger_row(redis.call("HGET", KEYS[2], ledger))

if mark == "C" then
  local is_open = -tonumber(ledger) >= -tonumber(own[1])
  live.open(KEYS[6])
  live.fill(entries[1], entries[#entries])
  live.save()
  add_members(is_open and KEYS[4] or KEYS[5], members)
  if is_open then redis.call("HINCRBY", delay, "open", whole(#members / 2)) end
  redis.call("HINCRBY", delay, "entries", whole(#entries))
  redis.call("HINCRBY", delay, "records", whole(count))
else
  for _, entry in ipairs(entries) do
    redis.call("XDEL", KEYS[9], "0-" .. whole(entry))
    redis.call("HDEL", KEYS[7], whole(entry)) -- of a block
    redis.call("HDEL", KEYS[8], whole(entry)) -- its recurrence
  end
  row.deleted, row.unlogged = row.deleted + #entries, row.unlogged - #entries
  redis.call("HSET", KEYS[2], ledger, ledger_text(row))
end
redis.call("HINCRBY", delay, "held", whole(-count))
if rest ~= "" then
  redis.call("HSET", delay, txn .. "/" .. ARGV[3], rest)
  return { OK, tonumber(left), 1 }
end
redis.call("HDEL", delay, txn .. "/" .. ARGV[3])
left = tonumber(left) - 1
if left > 0 then
  redis.call("HSET", delay, txn, mark .. " " .. chunks .. " " .. whole(left) .. " " .. records)
else
  redis.call("HDEL", delay, txn)
  local others = {}
  for name in string.gmatch(own[3] or "", "%S+") do
    if name ~= txn then others[#others + 1] = name end
  end
  redis.call("HSET", delay, "decided", table.concat(others, " "))
end
return { OK, left }
