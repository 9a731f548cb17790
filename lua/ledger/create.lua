#!lua
--[[ ledger/create: make an empty partition, with its first ledger.

KEYS        1 state  2 ledgers  3 log  4 producers  5 open  6 firsts  7 aborted  8 ended  9 watermarks  10 subs
            11 data  stream  payload of ledger 1  12 delay state  13 cold
ARGV        1 topic_id  2 now_ms
RETURNS     {OK} | {EXISTS, topic_id} when a partition of another topic id is in the way
COMPLEXITY  O(1)
WRITES      only when the partition is not there; every small set gets a sentinel so that its key always exists
SOURCE      docs/decisions/0001
]]
--- @include "include/status"
--- @include "include/stream"
local held = redis.call("HGET", KEYS[1], "topic_id")
if held == ARGV[1] then return { OK } end
if held then return { EXISTS, held } end

redis.call("HSET", KEYS[2], "1", "0 0 0 -1 0 0 " .. ARGV[2])
for _, key in ipairs({ KEYS[4], KEYS[5], KEYS[9], KEYS[10], KEYS[12], KEYS[13] }) do redis.call("HSET", key, "", "") end
for _, key in ipairs({ KEYS[6], KEYS[7], KEYS[8] }) do redis.call("ZADD", key, -1, "") end
make_stream(KEYS[3])
make_stream(KEYS[11])
redis.call("HSET", KEYS[1], "topic_id", ARGV[1], "epoch", 0, "next", 0, "start", 0, "stable", 0, "ledger", 1,
  "bytes", 0, "newest", -1, "committed", 0, "aborted", 0, "created", ARGV[2])
return { OK }
