#!lua flags=allow-oom
--[[ offload/forget: take segments out of the manifest that lie wholly below the log start.

The log start never moves back, so what the caller has found below it stays there.

KEYS        1 state  2 cold  hash  first offset → segment, "plan", "version"
ARGV        1 topic_id  2.. the segments: first offset, segment (JSON) as the caller knows it
RETURNS     {OK} none of them is there (any more) | {UNKNOWN_TOPIC}
COMPLEXITY  O(segments)
WRITES      only what is as the caller knows it
SOURCE      KIP-405 (retention of remote segments)
]]
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local gone = {}
for i = 2, #ARGV, 2 do
  if redis.call("HGET", KEYS[2], ARGV[i]) == ARGV[i + 1] then gone[#gone + 1] = ARGV[i] end
end

for _, first in ipairs(gone) do redis.call("HDEL", KEYS[2], first) end
if #gone > 0 then redis.call("HINCRBY", KEYS[2], "version", 1) end
return { OK }
