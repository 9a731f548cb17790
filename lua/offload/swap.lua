#!lua flags=allow-oom
--[[ offload/swap: replace segments by others that cover the same offsets (compaction).

The caller has compared the offsets, in the given version of the manifest.

KEYS        1 state  2 cold  hash  first offset → segment, "plan", "version"
ARGV        1 topic_id  2 version  3 number to remove  4.. their first offsets, then the new ones: first offset, segment (JSON)
RETURNS     {OK, version} | {STALE, version} the manifest has changed since | {UNKNOWN_TOPIC}
COMPLEXITY  O(segments)
WRITES      only if the version is the current one; a retry changes nothing
SOURCE      docs/decisions/0014; Kafka log compaction
]]
--- @include "include/deadline"
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local version = redis.call("HGET", KEYS[2], "version") or "0"
local count = tonumber(ARGV[3])
if version ~= ARGV[2] then
  local is_done = tonumber(version) == tonumber(ARGV[2]) + 1
  for i = 4 + count, #ARGV, 2 do is_done = is_done and redis.call("HGET", KEYS[2], ARGV[i]) == ARGV[i + 1] end
  return { is_done and OK or STALE, version }
end

for i = 4, 3 + count do redis.call("HDEL", KEYS[2], ARGV[i]) end
for i = 4 + count, #ARGV, 2 do redis.call("HSET", KEYS[2], ARGV[i], ARGV[i + 1]) end
return { OK, redis.call("HINCRBY", KEYS[2], "version", 1) }
