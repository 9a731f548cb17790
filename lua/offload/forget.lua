#!lua flags=allow-oom
--[[ offload/forget: delete segments entirely below the log start from the manifest.

The log start never moves back, so a segment that the caller found below it stays below it.

KEYS        1 state  2 cold  hash  first offset → segment, "plan", "version"
ARGV        1 topic_id  2.. the segments: first offset, segment (JSON) that the caller read
RETURNS     {OK} none of them is in the manifest now | {UNKNOWN_TOPIC}
COMPLEXITY  O(segments)
WRITES      only segments that are as the caller read them
SOURCE      KIP-405 (retention of remote segments)
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/stored_values"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check_counters("The manifest of the partition", KEYS[2], "version")
local gone = {}
for i = 2, #ARGV, 2 do
  if redis.call("HGET", KEYS[2], ARGV[i]) == ARGV[i + 1] then gone[#gone + 1] = ARGV[i] end
end

for _, first in ipairs(gone) do redis.call("HDEL", KEYS[2], first) end
if #gone > 0 then redis.call("HINCRBY", KEYS[2], "version", 1) end
return { OK }
