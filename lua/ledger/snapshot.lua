#!lua
--[[ ledger/snapshot: store a snapshot of the transaction buffer, unless another broker has stored one since.

KEYS        1 state  2 snapshot
ARGV        1 topic_id  2 head that the caller has read ("" none)  3 new head  4 index
            5 replace (1: nothing of the stored snapshot is kept)  6 number of segments to delete, and their fields
            7.. pairs: field of a new segment  its bytes
RETURNS     {OK} | {STALE} another head is stored | {UNKNOWN_TOPIC}
COMPLEXITY  O(bytes written + segments deleted)
WRITES      the whole snapshot in one step, or nothing
SOURCE      PIP-196; docs/decisions/0032
]]
--- @include "include/deadline"
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
if (redis.call("HGET", KEYS[2], "head") or "") ~= ARGV[2] then return { STALE } end

local deleted = tonumber(ARGV[6])
local old, new = ARGV[5] == "1" and redis.call("HKEYS", KEYS[2]) or {}, { head = true, index = true }
for i = 7, 6 + deleted do old[#old + 1] = ARGV[i] end

redis.call("HSET", KEYS[2], "head", ARGV[3], "index", ARGV[4])
for i = 7 + deleted, #ARGV, 2 do
  redis.call("HSET", KEYS[2], ARGV[i], ARGV[i + 1])
  new[ARGV[i]] = true
end
-- After the writes: without fields the key would go, and in a moving slot it could not be made again.
for _, name in ipairs(old) do
  if not new[name] then redis.call("HDEL", KEYS[2], name) end
end
return { OK }
