#!lua flags=allow-oom
--[[ txn/forget: forget outcomes and committed steps of one coordinator that are older, or more, than are kept.

txn/apply forgets a few with every end; this forgets them while no transaction ends, too.

KEYS        1 state  2 txns  3 order  4 deadlines  5 outcomes  6 forget  7 nonces  8 calls  9 log  10 live  11 ids  12 steps
ARGV        1 now_ms  2 most to forget of each
            3 outcomes are kept for ms  4 and at most so many (negative: no limit)
            5 steps are kept for ms  6 and at most so many
RETURNS     {OK, outcomes forgotten, steps forgotten}
COMPLEXITY  O(forgotten)
WRITES      nothing that is to be kept
SOURCE      PIP-31 "transaction coordinator"; docs/decisions/0013
]]
--- @include "include/status"
--- @include "include/chunked"
local now, most = tonumber(ARGV[1]), tonumber(ARGV[2])
--- @include "include/ended_retention"
local gone = surplus_of(KEYS[12], tonumber(ARGV[5]), tonumber(ARGV[6]), most)
local old = surplus_of(KEYS[6], tonumber(ARGV[3]), tonumber(ARGV[4]), most)

call_chunked("ZREM", KEYS[12], gone)
nonces_forget(gone)
outcomes_forget(old, {})
return { OK, #old, #gone }
