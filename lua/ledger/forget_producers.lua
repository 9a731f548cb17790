#!lua flags=allow-oom
--[[ ledger/forget_producers: delete the windows of idle producers without an open transaction.

KEYS        1 producers  2 open
ARGV        1.. pairs: producer id, its row that the caller read
RETURNS     {OK, forgotten}
COMPLEXITY  O(producers named)
WRITES      only rows that have not changed since
SOURCE      Kafka producer.id.expiration.ms
]]
--- @include "include/deadline"
--- @include "include/status"
local silent = {}
for i = 1, #ARGV, 2 do
  if redis.call("HGET", KEYS[1], ARGV[i]) == ARGV[i + 1] and not redis.call("HGET", KEYS[2], ARGV[i]) then
    silent[#silent + 1] = ARGV[i]
  end
end

if #silent > 0 then redis.call("HDEL", KEYS[1], unpack(silent)) end
return { OK, #silent }
