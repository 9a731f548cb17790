#!lua flags=allow-oom
--[[ ledger/delete: delete a partition.  The first call closes it, so that nothing can be added; the second call names the
keys of all its ledgers and subscriptions and unlinks them.

KEYS        1 state  2.. every key to unlink (second call)
ARGV        1 topic_id
RETURNS     {OK, closed 0 or 1}
COMPLEXITY  O(keys); Redis frees them in the background
WRITES      only if the partition belongs to this topic id
SOURCE      docs/architecture.md "deleting a topic"
]]
--- @include "include/deadline"
--- @include "include/status"
local held = redis.call("HGET", KEYS[1], "topic_id")
if held ~= ARGV[1] and held ~= "deleted " .. ARGV[1] then return { OK, 0 } end

if #KEYS == 1 then
  redis.call("HSET", KEYS[1], "topic_id", "deleted " .. ARGV[1])
else
  for i = 1, #KEYS, 4000 do redis.call("UNLINK", unpack(KEYS, i, math.min(i + 3999, #KEYS))) end -- unpack takes fewer than 8000
end
return { OK, 1 }
