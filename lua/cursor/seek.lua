#!lua flags=allow-oom
--[[ cursor/seek: reset a cursor to an offset: everything below counts as acknowledged, the rest is new.

Leases, acks and pending acks are dropped: the end of a transaction that held acks here then changes nothing.  The same
for a Kafka group: its offset is set, and offsets of open transactions are dropped.  A member that has read its offset
here since the caller read the fence would commit over the new one, so the seek is refused.

KEYS        1 state  2 cursor  3 acks  4 leases  5 spans  6 due  7 pending; and `none`: store/keys
ARGV        1 topic_id  2 where (earliest, latest or an offset; below the log start means the log start)
            3 fence of a Kafka group as the caller has read it, "" for another kind  4 now_ms
RETURNS     {OK, offset} | {BAD_OFFSET, start, next} | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {FENCED, generation}
            {WRONG_KIND, kafka}: it is a Kafka group, and no fence is given
COMPLEXITY  O(1); memory is freed in the background
WRITES      only when it returns OK; the session of an exclusive consumer continues
SOURCE      requirements AK-30; docs/decisions/0004, 0049
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/start_offset"
--- @include "include/reset_cursor"
--- @include "include/partition"
local state = redis.call("HMGET", KEYS[1], "topic_id", "start", "next")
if state[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local held = redis.call("HMGET", KEYS[2], "kind", "fence", "writes")
local kind = held[1]
if not kind then return { UNKNOWN_SUB } end
if kind == "kafka" then
  if ARGV[3] == "" then return { WRONG_KIND, kind } end
  if tonumber(held[2]) > tonumber(ARGV[3]) then return { FENCED, tonumber(held[2]) } end
end
local at = start_offset(ARGV[2], state)
if not at then return { BAD_OFFSET, state[2], state[3] } end
if kind == "kafka" then
  local write = whole(tonumber(held[3]) + 1)
  redis.call("HSET", KEYS[2], "offset", at, "leader_epoch", "-1", "metadata", "", "time", ARGV[4], "write", write,
    "writes", write, "seen", ARGV[4])
  redis.call("UNLINK", KEYS[7])
  redis.call("HSET", KEYS[7], "", "")
  return { OK, at }
end
reset_cursor(at, 0)
return { OK, at }
