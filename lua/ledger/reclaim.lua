#!lua flags=allow-oom
--[[ ledger/reclaim: delete the payload of aborted transactions, and keep their log entries.

    offset   0   1    2    3     4    5     6          reclaimed: everything aborted below it has no payload any more
    record   a   b·t1 c    d·t1  ✗t1  e·t2  f          limit 5: the payload of b and d is deleted, reclaimed becomes 5
             ^ reclaimed              ^ limit, stable

A call goes through a part of the log, from `reclaimed` on, and stores how far it came in the same step.  So a call that
is repeated, or that another broker makes at the same time, goes on from there.  Only below the stable offset, where all
is decided.  The log says what was aborted: a member of the aborted set without its marker in the log deletes nothing.
Offsets, log entries and the aborted set stay; deleted entries count as deleted in the ledger's row.

KEYS        1 state  2 ledgers  3 log  4 aborted
            5 data  stream  the ledger named in ARGV[2], if any
ARGV        1 topic_id  2 ledger whose payload the call may delete ("" none: the call finds out which)
            3 limit: go to this offset at most
RETURNS     {OK, reclaimed, entries deleted, their bytes, log entries read, more, ledger} more 1: neither the limit nor
            the stable offset is reached; the next call names this ledger ("" none) | {UNKNOWN_TOPIC}
COMPLEXITY  O(log entries read, at most 150, and the members of the aborted set that they need); of payload, 16 MiB and the
            rest of one entry are deleted at most.  Where very many aborts lie close together, calls in between walk over them: include/aborted_checkpoints
WRITES      the ledger's payload and its row, `reclaimed`
SOURCE      docs/decisions/0042; requirement TB-36
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
--- @include "include/cursor"
--- @include "include/deliverable"
--- @include "include/aborted_checkpoints"
local LOOKED, AHEAD, FREED = 150, 64, 16777216

-- Whether the log has the abort marker of this producer there.
local function has_marker(log, offset, producer)
  local item = redis.call("XRANGE", log, whole(offset) .. "-0", whole(offset) .. "-9")[1]
  local fields = item and item[2] -- l ledger e entry b base n records s bytes p producer v epoch q sequence f flags
  return fields ~= nil and fields[12] == producer and tonumber(fields[18]) % 8 == 3 -- a marker, and no commit
end

-- Returns the offset from which there can be something to delete: nothing that is aborted lies in between.
local function first_aborted(aborted, from, to)
  local rows, first = redis.call("ZRANGEBYSCORE", aborted, whole(from), "+inf", "LIMIT", "0", AHEAD), to
  for i, row in ipairs(rows) do
    local begun, stable = string.match(row, "^%S+ (%d+) (%d+)$")
    first = math.min(first, tonumber(begun))
    if i == AHEAD then first = math.min(first, tonumber(stable)) end -- no later one began below it
  end
  return math.max(first, from)
end

local held = redis.call("HMGET", KEYS[1], "topic_id", "start", "stable", "reclaimed", "aborts")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local log, aborted, ledger, before = KEYS[3], KEYS[4], ARGV[2], tonumber(held[4] or 0)
local clear_to, walk = checkpoints.read(held[5])
if walk then
  checkpoints.step(KEYS[1], aborted, walk)
  return { OK, whole(before), 0, 0, 0, 1, ledger }
end

local at, to = math.max(before, tonumber(held[2])), math.min(tonumber(ARGV[3]), tonumber(held[3]))
if at < to then at = first_aborted(aborted, at, to) end
local items, upto, found = {}, to, {} -- upto: the log is read up to there
if at < to then
  items = redis.call("XRANGE", log, whole(at) .. "-0", "+", "COUNT", LOOKED)
  if #items == LOOKED then upto = math.min(to, tonumber(string.match(items[#items][1], "^(%d+)")) + 1) end
  found = aborted_between(aborted, at, upto, upto <= clear_to and math.huge or VISITED_MAX)
end
if not found then
  checkpoints.begin(KEYS[1], at, tonumber(held[3]))
  return { OK, whole(before), 0, 0, 0, 1, ledger }
end

-- Returns whether an aborted transaction contains the batch.  Its marker must be in the log.
local has_markers = {}
local function is_reclaimable(producer, base)
  local spans = found[producer] or {}
  for i = 1, #spans, 2 do
    local first, marker = spans[i], spans[i + 1]
    if first <= base and base <= marker then
      if has_markers[marker] == nil then has_markers[marker] = has_marker(log, marker, producer) end
      if has_markers[marker] then return true end
    end
  end
  return false
end

local rows, ids, bytes, seen, is_full = {}, {}, 0, 0, false
for _, item in ipairs(items) do
  local fields = item[2]
  local base, last, own = tonumber(fields[6]), tonumber(string.match(item[1], "^(%d+)")), fields[2]
  if last >= to then
    to = math.min(to, base)
    upto = to
    break
  end
  if tonumber(fields[18]) % 4 == 1 and tonumber(own) > 0 and is_reclaimable(fields[12], base) then
    if rows[own] == nil then rows[own] = redis.call("HGET", KEYS[2], own) or false end
    if rows[own] then -- else the payload went with its ledger
      is_full = own ~= ledger or bytes >= FREED
      if is_full then
        ledger = own
        break
      end
      ids[#ids + 1] = "0-" .. fields[4]
      bytes = bytes + tonumber(fields[10])
    end
  end
  seen, at = seen + 1, last + 1
end
if not is_full then at = math.max(at, upto) end -- the log may have a gap there

local removed, row = 0, #ids > 0 and ledger_row(rows[ARGV[2]])
if row then
  removed = redis.call("XDEL", KEYS[5], unpack(ids))
  row.deleted = row.deleted + removed
  redis.call("HSET", KEYS[2], ARGV[2], ledger_text(row))
end
if at > before then redis.call("HSET", KEYS[1], "reclaimed", whole(at)) end
return { OK, whole(math.max(at, before)), removed, removed == #ids and bytes or 0, seen, at < to and 1 or 0, ledger }
