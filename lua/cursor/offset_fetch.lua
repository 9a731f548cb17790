#!lua flags=allow-oom
--[[ cursor/offset_fetch: read the committed offset of a Kafka group; a fetch with a generation fences earlier generations.

A member fetches before it consumes a newly assigned partition.  From then on a late commit of the previous member is
refused, also if the group has moved to another broker in between.

KEYS        1 state  2 subs  3 cursor  4 pending
ARGV        1 topic_id  2 group (percent-encoded)  3 now_ms  4 generation, or -1 for a read without fencing
            5 make  1: create a missing register, as with a generation; else 0
RETURNS     {OK, offset or -1, leader_epoch, metadata, time of the commit or -1, transactions with a pending commit...}
            at most 100 transactions | {WRONG_KIND, kind} | {UNKNOWN_TOPIC}
COMPLEXITY  O(n) for n pending commits
WRITES      the fence, and a missing register without an offset; nothing without a generation or `make`
SOURCE      KIP-447 "unstable offsets"; docs/decisions/0011
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
--- @include "include/group_offset"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local held = redis.call("HMGET", KEYS[3], "kind", "fence", "offset", "leader_epoch", "metadata", "time")
if held[1] and held[1] ~= "kafka" then return { WRONG_KIND, held[1] } end
if held[1] then stored.check("The offset of a group", { held[2] }) end
local generation = tonumber(ARGV[4])

if not held[1] then
  if generation < 0 and ARGV[5] ~= "1" then return { OK, "-1", "-1", "", "-1" } end
  registers.make(KEYS[2], ARGV[2], ARGV[3], KEYS[3], KEYS[4])
end
if generation >= 0 then
  redis.call("HSET", KEYS[3], "fence", whole(math.max(generation, tonumber(held[2] or -1))), "seen", ARGV[3])
end
return { OK, held[3] or "-1", held[4] or "-1", held[5] or "", held[6] or "-1", unpack(registers.waiting(KEYS[4], 100)) }
