#!lua flags=allow-oom
--[[ cursor/key_shares: how the consumers of a key_shared subscription share its slots on one partition.

    slots    0 1 2 3 ... 255        c1 has 0 and 2, c2 has 1 and 3
    queue    ■ □ □ □ ■ ↺            ■ a consumer has it   □ waits, not delivered yet   ↺ waits, was returned

KEYS        1 state  2 cursor  3 acks  4 leases  5 spans  6 due  7 pending
ARGV        1 topic_id  2 first  slot to begin with: 0 at first, then that of the last reply
            3 most  grants, and one more for each slot, after which the call ends with the slot that it has reached
RETURNS     {OK, next, consumer, slots, unacked, waiting, returned, session_ends, ...} members in the order in which they
            joined, then consumers that have unacknowledged offsets and no slots
            next: the slot to go on with; 256 at the end.  slots, unacked: of all slots, as divided by the last receive,
            and offsets that it has leased, or acknowledged in an open transaction; both are 0 unless first is 0
            waiting: offsets in the queues of its slots, of those that the call has read, that no consumer has
            returned: those of them that were delivered before.  session_ends: ms; 0 after it has left
            | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {WRONG_KIND, kind}
COMPLEXITY  O(s + g + n) for 256 slots s, g grants of their queues, and n consumers that the cursor has; the queues are read,
            and not their offsets one by one
WRITES      nothing
SOURCE      docs/decisions/0046
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/cursor"
--- @include "include/key_slots"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c, refused = cursors.open(KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7])
if not c then return refused end
if not cursors.has_keys(c.kind) then return { WRONG_KIND, c.kind } end

-- Returns how many offsets of a slot wait, how many of these were returned, and one more than the number of its grants.
local function waiting_of(slot)
  local q, size, waiting, returned = cursors.queue(c, slot), 0, 0, 0
  for _, grant in pairs(q.grants) do
    size = size + grant.size
    if cursors.is_unassigned(grant.consumer) then
      waiting = waiting + grant.size
      if grant.consumer ~= cursors.UNSEEN or grant.count > 0 then returned = returned + grant.size end
    end
  end
  if size > q.n then queues.damaged(slot) end
  return waiting, returned, q.size
end

local listed, rows, by_name = redis.call("HMGET", c.cursor, "slots", "members"), {}, {}
local function row_of(name)
  local row = { name = name, slots = 0, unacked = 0, waiting = 0, returned = 0, ends = 0 }
  rows[#rows + 1], by_name[name] = row, row
  return row
end
for name in string.gmatch(listed[2] or "", "%S+") do row_of(name) end
local text, first, left = listed[1] or "", tonumber(ARGV[2]), tonumber(ARGV[3])
if first == 0 then
  for slot = 1, #text do
    local row = rows[string.byte(text, slot)]
    if row then row.slots = row.slots + 1 end
  end
  for _, member in ipairs(consumers.all(c.cursor)) do
    local unacked = member.unacked + (c.deltas[member.name] or 0)
    local row = by_name[member.name] or (unacked > 0 and row_of(member.name))
    if row then row.unacked, row.ends = unacked, member.ends end
  end
end
while first < #text and left > 0 do
  local waiting, returned, grants = waiting_of(first)
  local row = rows[string.byte(text, first + 1)]
  if row then row.waiting, row.returned = row.waiting + waiting, row.returned + returned end
  first, left = first + 1, left - grants
end

local reply = { OK, first < #text and first or slots.COUNT }
for _, row in ipairs(rows) do
  for _, value in ipairs({ row.name, row.slots, row.unacked, row.waiting, row.returned, row.ends }) do
    reply[#reply + 1] = value
  end
end
return reply
