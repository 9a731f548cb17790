#!lua flags=allow-oom
--[[ cursor/offset_delete: forget a Kafka group's offset on a partition, or the whole register, fence included.

KEYS        1 state  2 subs  3 cursor  4 pending
            5 acks  6 leases  7 spans  8 due: for a register, since one of an earlier release has them; else 5 none
ARGV        1 topic_id  2 group (percent-encoded)
            3 what   offset: the offset and what is pending, the register stays; register: all of it
            4 when   always; empty: if there is no offset; idle: if no member was seen since before_ms; of the latter two
                     neither while anything is pending
            5 before_ms
RETURNS     {OK, there is a register left 0 or 1} | {WRONG_KIND, kind} | {UNKNOWN_TOPIC}
COMPLEXITY  O(n) for n commits pending; memory is freed in the background
WRITES      an end of a transaction that had a commit pending here finds nothing and succeeds; KEYS 5 to 8 go in any case
SOURCE      KIP-496 "offset delete", KIP-211 "expiration"; docs/decisions/0011
]]
--- @include "include/status"
--- @include "include/group_offset"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local held, when = redis.call("HMGET", KEYS[3], "kind", "time", "seen"), ARGV[4]
if not held[1] then return { OK, 0 } end
if held[1] ~= "kafka" then return { WRONG_KIND, held[1] } end
if ARGV[3] == "register" then redis.call("UNLINK", KEYS[5], KEYS[6], KEYS[7], KEYS[8]) end -- nothing reads them
if when ~= "always" then
  if #registers.waiting(KEYS[4], 1) > 0 then return { OK, 1 } end
  if when == "empty" and held[2] ~= "-1" then return { OK, 1 } end
  if when == "idle" and tonumber(held[3]) >= tonumber(ARGV[5]) then return { OK, 1 } end
end

if ARGV[3] == "offset" then
  redis.call("HSET", KEYS[3], "offset", "-1", "leader_epoch", "-1", "metadata", "", "time", "-1", "write", "0")
  redis.call("UNLINK", KEYS[4])
  redis.call("HSET", KEYS[4], "", "")
  return { OK, 1 }
end
redis.call("HDEL", KEYS[2], ARGV[2])
redis.call("UNLINK", KEYS[3], KEYS[4])
return { OK, 0 }
