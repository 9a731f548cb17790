#!lua flags=allow-oom
--[[ txn/forget_tombstones: delete tombstones of ended transactions on one partition that are not needed any more.

A tombstone refuses an append that was verified just before its transaction ended.  It is deleted when the low watermark
has reached it, or by age.  txn/end deletes a few with every end; this script is for times without ends.

KEYS        1 ended  2 watermarks
ARGV        1 now_ms  2 tombstone_ms  3 number of the oldest to skip  4 most to read
RETURNS     {OK, read, deleted}
COMPLEXITY  O(read)
WRITES      deletes tombstones
SOURCE      transaction buffer RFC "low watermark"; docs/decisions/0001
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/serial_order"
local before, marks, passed = tonumber(ARGV[1]) - tonumber(ARGV[2]), {}, {}
local found = redis.call("ZRANGEBYSCORE", KEYS[1], "0", "+inf", "WITHSCORES", "LIMIT", ARGV[3], ARGV[4])
for i = 1, #found, 2 do
  local coordinator, serial = string.match(found[i], "^(%d+)%-(%d+)$")
  if marks[coordinator] == nil then marks[coordinator] = redis.call("HGET", KEYS[2], coordinator) or "" end
  local is_reached = marks[coordinator] ~= "" and serial_at_most(serial, marks[coordinator])
  if is_reached or tonumber(found[i + 1]) < before then passed[#passed + 1] = found[i] end
end

if #passed > 0 then redis.call("ZREM", KEYS[1], unpack(passed)) end
return { OK, #found / 2, #passed }
