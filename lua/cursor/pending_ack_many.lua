#!lua flags=allow-oom
--[[ cursor/pending_ack_many: apply the transactional acks of several transactions on one subscription, if all are simple.

The common case, with one read and one write of the cursor: every range is leased to the consumer that acknowledges it,
and each transaction is open and holds nothing here yet.  In any other case the script changes nothing, and the caller
sends each ack to cursor/pending_ack.

KEYS        1 state  2 ended  3 watermarks  4 cursor  5 acks  6 leases  7 spans  8 due  9 pending
ARGV        1 topic_id  2 now_ms  3 number of acks
            4.. for each: consumer  coordinator  serial  offsets held
            then all ranges, ascending and disjoint, three each: first  last  number of the ack (from 1)
RETURNS     {OK, mark} | {STALE} send them one by one | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {WRONG_KIND, kafka}
COMPLEXITY  O(r log l + m) for r ranges, l leases, m of them touched
WRITES      only when it returns OK
SOURCE      cursor/pending_ack; docs/decisions/0007
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/serial_order"
--- @include "include/cursor"
local LEASES_MAX = 300
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c, refused = cursors.open(KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9])
if not c then return refused end
local count, acks, txns, marks, wanted = tonumber(ARGV[3]), {}, {}, {}, 0
for i = 1, count do
  local at = 4 * i
  local coordinator, serial = ARGV[at + 1], ARGV[at + 2]
  if marks[coordinator] == nil then marks[coordinator] = redis.call("HGET", KEYS[3], coordinator) or "" end
  if marks[coordinator] ~= "" and serial_at_most(serial, marks[coordinator]) then return { STALE } end
  txns[i] = coordinator .. "-" .. serial
  acks[i] = { consumer = ARGV[at], parts = {} }
  wanted = wanted + tonumber(ARGV[at + 3])
end
for i, held in ipairs(redis.call("HMGET", c.pending, unpack(txns))) do
  if held or redis.call("ZSCORE", KEYS[2], txns[i]) then return { STALE } end
end

local ranges, owners = {}, {}
for at = 4 + 4 * count, #ARGV, 3 do
  ranges[#ranges + 1], ranges[#ranges + 2] = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  owners[#owners + 1] = acks[tonumber(ARGV[at + 2])]
end
local touched, size = cursors.touched(c, ranges, LEASES_MAX)
if size ~= wanted then return { STALE } end
local n = 1
for _, lease in ipairs(touched) do
  for i = 1, #lease.holes, 2 do
    while lease.holes[i] > ranges[2 * n] do n = n + 1 end
    local ack = owners[n]
    if cursors.is_others(lease, ack.consumer) then return { STALE } end
    ack.parts[#ack.parts + 1] = cursors.range_text(lease.holes[i], lease.holes[i + 1], lease.count)
    cursors.hold_for(c, ack, { { consumer = lease.consumer, holes = { lease.holes[i], lease.holes[i + 1] } } })
  end
end

cursors.cut(c, touched)
c.held = c.held + size
local rows = {}
for i, ack in ipairs(acks) do
  rows[#rows + 1], rows[#rows + 2] = txns[i], "I" .. cursors.held_since(ARGV[2]) .. cursors.holders_text(ack.by) .. " " .. table.concat(ack.parts, ",")
end
cursors.call_chunked("HSET", c.pending, rows)
cursors.save(c)
return { OK, c.mark }
