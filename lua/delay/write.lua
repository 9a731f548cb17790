#!lua flags=allow-oom
--[[ delay/write: begin a snapshot of a bucket, or write fields of a begun one.

A snapshot is announced before its key exists, so the sweep finds a snapshot that is never listed.

KEYS        1 state  2 snaps
            3 snapshot  hash  field 0: metadata, n: segment n
ARGV        1 topic_id  2 snapshot id  3 now_ms (to begin it; "" to write)
            4.. field, value, field, value ...
RETURNS     {OK} | {STALE} if it was swept | {UNKNOWN_TOPIC}
COMPLEXITY  O(bytes)
WRITES      the snapshot
SOURCE      PIP-195 "bucket snapshot"
]]
--- @include "include/deadline"
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
if ARGV[3] == "" and redis.call("HEXISTS", KEYS[2], ARGV[2]) == 0 then return { STALE } end

if ARGV[3] ~= "" then redis.call("HSET", KEYS[2], ARGV[2], ARGV[3]) end
if #ARGV > 3 then redis.call("HSET", KEYS[3], unpack(ARGV, 4)) end
return { OK }
