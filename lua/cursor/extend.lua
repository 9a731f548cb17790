#!lua flags=allow-oom
--[[ cursor/extend: extend leases of a consumer, and renew its session if no consumer owns the subscription.

    lease      0  1  2  3  4   ~r.0   reserved, until 30 000
    extend     0  1                   at 12 000, for 30 000
    leases     0  1                   until 42 000; their delivery counts
                     2  3  4   ~r.0   as before

No lease becomes shorter.  Offsets that the consumer has not leased are left out.

KEYS        1 state  2 cursor  3 acks  4 leases  5 spans  6 due  7 pending
ARGV        1 topic_id  2 consumer  3 now_ms  4 ack_timeout_ms, or with a back-off: include/backoff  5 session_ms
            6 most leases to touch  7 from   without ranges: the first offset
            8.. first, last of each range, ascending and disjoint, of which the deliveries count from now on; none: all
            leases, and those that are reserved stay so
RETURNS     {OK, reached, first, last, ...} the ranges that were extended; reached: if more calls are needed, the last offset
            of this one (-1: call again with the same arguments), else -2
            | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {WRONG_KIND, kafka}
COMPLEXITY  O(r log l + m) for r ranges, l leases and m leases touched
WRITES      leases, and the consumer's session; a repeated call changes only deadlines
SOURCE      docs/decisions/0054
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/cursor"
--- @include "include/backoff"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c, refused = cursors.open(KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7])
if not c then return refused end
local consumer, now, wait, is_all = ARGV[2], tonumber(ARGV[3]), wait_of(ARGV[4]), #ARGV == 7
local most, touched, reached = tonumber(ARGV[6]), {}, nil

local function deadline_of(lease) return math.max(lease.deadline, now + wait_ms(wait, lease.count)) end

if not is_all then
  local _
  touched, _, reached = cursors.touched(c, (cursors.given(8)), most)
elseif cursors.has_keys(c.kind) then
  touched = cursors.leases_where(c, most, function(grant)
    return grant.consumer == consumer and grant.deadline < deadline_of(grant)
  end)
  if #touched == most then reached = -1 end
else
  touched = cursors.leases_at(c, redis.call("ZRANGEBYSCORE", c.spans, ARGV[7], "+inf", "LIMIT", "0", most))
  for _, lease in ipairs(touched) do lease.holes = { lease.first, lease.last } end
  if #touched == most then reached = touched[most].last end
end

local leases, reply = {}, { OK, reached or -2 }
for _, lease in ipairs(touched) do
  if lease.consumer == consumer then
    local deadline, request = deadline_of(lease), is_all and lease.request or ""
    cursors.cut(c, { lease })
    for i = 1, #lease.holes, 2 do
      local first, last, tail = lease.holes[i], lease.holes[i + 1], leases[#leases]
      if tail and tail[2] + 1 == first and tail[3] == lease.count and tail[4] == deadline and tail[5] == request then
        tail[2] = last
      else
        leases[#leases + 1] = { first, last, lease.count, deadline, request }
      end
    end
  end
end
for _, each in ipairs(leases) do
  cursors.put(c, each[1], each[2], consumer, each[3], each[4], each[5])
  reply[#reply + 1], reply[#reply + 2] = each[1], each[2]
end
if leases[1] and not cursors.is_ordered(c.kind) then -- else cursor/claim renews it
  c.receiver = { name = consumer, now = now, ends = now + tonumber(ARGV[5]), delivered = 0, redelivered = 0 }
end
cursors.save(c)
return reply
