#!lua
--[[ ledger/create: create an empty partition with its first ledger.

KEYS        1 state  2 ledgers  3 log  4 producers  5 open  6 firsts  7 aborted  8 ended  9 watermarks  10 subs
            11 data  stream  payload of ledger 1  12 delay state  13 cold
            14 delay open  15 closing  16 queue  17 live  18 parts  19 moved  20 buckets  21 next  22 snaps  23 repeats
            24 delay data  stream  payload of ledger -1  25 sidecar
ARGV        1 topic_id  2 now_ms
RETURNS     {OK} | {EXISTS, topic_id} if a partition of another topic id exists
COMPLEXITY  O(1)
WRITES      only if the partition is absent; every key gets a sentinel: during a migration of the slot an absent key can be
            neither named nor created
SOURCE      docs/decisions/0001
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/create_stream"
local held = redis.call("HGET", KEYS[1], "topic_id")
if held == ARGV[1] then return { OK } end
if held then return { EXISTS, held } end

redis.call("HSET", KEYS[2], "1", "0 0 0 -1 0 0 " .. ARGV[2])
for _, i in ipairs({ 4, 5, 9, 10, 12, 13, 17, 18, 19, 20, 22, 23 }) do redis.call("HSET", KEYS[i], "", "") end
for _, i in ipairs({ 6, 7, 8, 14, 15, 16, 21 }) do redis.call("ZADD", KEYS[i], -1, "") end
redis.call("ZADD", KEYS[25], 0, "")
for _, i in ipairs({ 3, 11, 24 }) do create_stream(KEYS[i]) end
redis.call("HSET", KEYS[1], "topic_id", ARGV[1], "epoch", 0, "next", 0, "start", 0, "stable", 0, "ledger", 1,
  "bytes", 0, "newest", -1, "committed", 0, "aborted", 0, "created", ARGV[2])
return { OK }
