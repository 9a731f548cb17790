#!lua flags=allow-oom
--[[ cursor/offset_delete: delete a Kafka group's offset on a partition, or the whole register with its fence.

KEYS        1 state  2 subs  3 cursor  4 pending
ARGV        1 topic_id  2 group (percent-encoded)
            3 what   offset: the offset and pending commits, but not the register; register: everything
            4 when   always; empty: if there is no offset; idle: if no member was seen since before_ms; empty and idle
                     only if no commit is pending
            5 before_ms  6 generation, or -1: nothing is deleted if a later one was seen here
RETURNS     {OK, 1 if the register remains} | {FENCED, generation seen} | {WRONG_KIND, kind} | {UNKNOWN_TOPIC}
COMPLEXITY  O(n) for n commits pending; memory is freed in the background
WRITES      the end of a transaction with a pending commit here finds none and succeeds
SOURCE      KIP-496 "offset delete", KIP-211 "expiration"; docs/decisions/0011
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/group_offset"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local held, when = redis.call("HMGET", KEYS[3], "kind", "time", "seen", "fence"), ARGV[4]
if not held[1] then return { OK, 0 } end
if held[1] ~= "kafka" then return { WRONG_KIND, held[1] } end
stored.check("The offset of a group", { held[4] or "-1", when ~= "idle" and "0" or held[3] })
local generation, fence = tonumber(ARGV[6]), tonumber(held[4] or -1)
if generation >= 0 and generation < fence then return { FENCED, fence } end
if when ~= "always" then
  if #registers.waiting(KEYS[4], 1) > 0 then return { OK, 1 } end
  if when == "empty" and held[2] ~= "-1" then return { OK, 1 } end
  if when == "idle" and tonumber(held[3]) >= tonumber(ARGV[5]) then return { OK, 1 } end
end
if ARGV[3] == "offset" then
  redis.call("HSET", KEYS[3], "offset", "-1", "leader_epoch", "-1", "metadata", "", "time", "-1", "write", "0")
  local txns = registers.waiting(KEYS[4], math.huge)
  for i = 1, #txns, 4000 do redis.call("HDEL", KEYS[4], unpack(txns, i, math.min(i + 3999, #txns))) end
  return { OK, 1 }
end
redis.call("HDEL", KEYS[2], ARGV[2])
redis.call("UNLINK", KEYS[3], KEYS[4])
return { OK, 0 }
