#!lua flags=allow-oom
--[[ cursor/offset_commit: commit the offset of a Kafka group on a partition, at once or with a transaction.

Any offset is accepted, also a lower one or one beyond the log end.  A missing register is created.  A generation below
the highest one seen here is refused: the group has removed that member.  In a transaction the offset replaces the
transaction's earlier pending one; include/end_pending_acks commits or drops it.

KEYS        1 state  2 subs  3 ended  4 watermarks  5 cursor  6 pending
ARGV        1 topic_id  2 group (percent-encoded)  3 now_ms  4 generation, or -1 for a commit without one
            5 offset  6 leader_epoch  7 metadata  8 coordinator ("" without a transaction)  9 serial
RETURNS     {OK, created 0 or 1} | {FENCED, generation seen} | {TXN_ENDED} | {WRONG_KIND, kind} | {UNKNOWN_TOPIC}
COMPLEXITY  O(1)
WRITES      only when it returns OK; a repeated call writes the same again
SOURCE      KIP-98 "offset commits", KIP-447; docs/decisions/0011
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/serial_order"
--- @include "include/partition"
--- @include "include/group_offset"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local held = redis.call("HMGET", KEYS[5], "kind", "fence", "writes")
if held[1] and held[1] ~= "kafka" then return { WRONG_KIND, held[1] } end
if held[1] then stored.check("The offset of a group", { held[2], held[3] }) end
local generation, fence = tonumber(ARGV[4]), tonumber(held[2] or -1)
if generation >= 0 and generation < fence then return { FENCED, fence } end
local coordinator, serial = ARGV[8], ARGV[9]
local txn = coordinator ~= "" and coordinator .. "-" .. serial
if txn then
  local watermark = redis.call("HGET", KEYS[4], coordinator)
  if redis.call("ZSCORE", KEYS[3], txn) or (watermark and watermark ~= "" and serial_at_most(serial, watermark)) then
    return { TXN_ENDED }
  end
end

if not held[1] then
  registers.make(KEYS[2], ARGV[2], ARGV[3], KEYS[5], KEYS[6])
end
local write, now, highest = whole(tonumber(held[3] or 0) + 1), ARGV[3], whole(math.max(generation, fence))
if txn then
  redis.call("HSET", KEYS[6], txn, registers.text(write, ARGV[5], ARGV[6], now, ARGV[7]))
  redis.call("HSET", KEYS[5], "writes", write, "fence", highest, "seen", now)
else
  redis.call("HSET", KEYS[5], "offset", ARGV[5], "leader_epoch", ARGV[6], "metadata", ARGV[7], "time", now, "write", write,
    "writes", write, "fence", highest, "seen", now)
end
return { OK, held[1] and 0 or 1 }
