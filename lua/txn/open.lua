#!lua flags=allow-oom
--[[ txn/open: create the keys of one coordinator, each with a sentinel so that it always exists.

KEYS        1 state  2 txns  3 order  4 deadlines  5 outcomes  6 forget  7 nonces  8 calls  9 log  10 live  11 ids  12 steps
            13 wide
ARGV        1 now_ms
RETURNS     {OK, created 0 or 1}
COMPLEXITY  O(1)
WRITES      only if the coordinator is absent
SOURCE      PIP-31 "transaction coordinator"; docs/decisions/0001
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/create_stream"
if redis.call("EXISTS", KEYS[1]) == 1 then return { OK, 0 } end

for _, i in ipairs({ 2, 5, 7, 8, 10, 11 }) do redis.call("HSET", KEYS[i], "", "") end
for _, i in ipairs({ 3, 4, 6, 12, 13 }) do redis.call("ZADD", KEYS[i], (i == 3 or i == 13) and 0 or -1, "") end
create_stream(KEYS[9])
redis.call("HSET", KEYS[1], "next", 0, "entry", 0, "created", 0, "committed", 0, "aborted", 0, "timeout", 0, "since", ARGV[1])
return { OK, 1 }
