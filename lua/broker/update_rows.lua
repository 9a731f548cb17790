#!lua flags=allow-oom
--[[ broker/update_rows: set and remove rows of a table that every broker caches, and raise its version.

KEYS        1 the table  2 catalog state
ARGV        1 name of the version in the catalog's state  2 new version, different in each call
            3.. pairs: field, row ("" removes it)
RETURNS     {OK, rows that were new or removed or changed}
COMPLEXITY  O(rows given)
WRITES      the version changes only when a row does, so a repeated call is a no-op
SOURCE      KIP-11 (the cluster stores the rules, each broker caches them)
]]
--- @include "include/deadline"
--- @include "include/status"
local changed = {}
for i = 3, #ARGV - 1, 2 do
  local now = redis.call("HGET", KEYS[1], ARGV[i]) or ""
  if now ~= ARGV[i + 1] then changed[#changed + 1] = i end
end

for _, i in ipairs(changed) do
  if ARGV[i + 1] == "" then
    redis.call("HDEL", KEYS[1], ARGV[i])
  else
    redis.call("HSET", KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
if #changed > 0 then redis.call("HSET", KEYS[2], ARGV[1], ARGV[2]) end
return { OK, #changed }
