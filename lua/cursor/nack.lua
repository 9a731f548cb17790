#!lua flags=allow-oom
--[[ cursor/nack: return leased offsets for redelivery after a delay.

Only leases of this consumer change; acknowledged, pending and other consumers' offsets do not.  Of a key_shared
subscription, later offsets of the same key are returned with them.

KEYS        1 state  2 cursor  3 acks  4 leases  5 spans  6 due  7 pending
ARGV        1 topic_id  2 consumer  3 now_ms  4 delay_ms, or with a back-off: include/backoff
            5 unseen   1: no consumer received them, so the delivery does not count; without ranges, that of reserved
            leases never does
            6 request  name.attempt: only what it leased, "": all
            7 most leases to touch  8 from   without ranges: the first offset
            9.. first, last of each range, ascending and disjoint; none: all
RETURNS     {OK, returned, [reached]} reached: the last offset returned, if more calls are needed
            | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {WRONG_KIND, kafka}
COMPLEXITY  O(r log l + m) for r ranges, l leases and m leases touched
WRITES      leases; a repeated call changes nothing
SOURCE      PIP-31 "acknowledgement"; requirements AK-28; docs/decisions/0004
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/cursor"
--- @include "include/backoff"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local c, refused = cursors.open(KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7])
if not c then return refused end
local consumer, now, wait = ARGV[2], tonumber(ARGV[3]), wait_of(ARGV[4])

local is_unseen, is_all = ARGV[5] == "1", #ARGV == 8
local request, touched, returned, most, reached = ARGV[6], {}, 0, tonumber(ARGV[7]), nil
if not is_all then
  local _
  touched, _, reached = cursors.touched(c, (cursors.given(9)), most)
elseif cursors.has_keys(c.kind) then
  touched = cursors.leases_where(c, most, function(grant) return grant.consumer == consumer and consumer ~= "" end)
  if #touched == most then reached = -1 end -- by slot: the next call begins anew
else
  touched = cursors.leases_at(c, redis.call("ZRANGEBYSCORE", c.spans, ARGV[8], "+inf", "LIMIT", "0", most))
  for _, lease in ipairs(touched) do lease.holes = { lease.first, lease.last } end
  if #touched == most then reached = touched[most].last end
end
for _, lease in ipairs(touched) do
  if lease.consumer == consumer and consumer ~= "" and (request == "" or lease.request == request) then
    cursors.cut(c, { lease })
    local no_consumer = (is_unseen or (is_all and cursors.is_reserved(lease))) and cursors.UNSEEN or ""
    for i = 1, #lease.holes, 2 do
      cursors.put(c, lease.holes[i], lease.holes[i + 1], no_consumer, lease.count, now + wait_ms(wait, lease.count))
      returned = returned + lease.holes[i + 1] - lease.holes[i] + 1
    end
    if cursors.has_keys(c.kind) then cursors.return_followers(c, lease.first, now + wait_ms(wait, lease.count)) end
  end
end
if cursors.has_keys(c.kind) and is_all then returned = returned + cursors.apply_followers(c) end
cursors.save(c)
return { OK, returned, reached }
