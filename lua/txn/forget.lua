#!lua flags=allow-oom
--[[ txn/forget: delete expired or surplus outcomes and committed steps of one coordinator.

txn/apply deletes a few with every end; this script is for times without ends.

KEYS        1 state  2 txns  3 order  4 deadlines  5 outcomes  6 forget  7 nonces  8 calls  9 log  10 live  11 ids  12 steps
ARGV        1 now_ms  2 most to delete of each
            3 retention of outcomes in ms  4 most outcomes to keep (negative: no limit)
            5 retention of steps in ms  6 most steps to keep
RETURNS     {OK, outcomes deleted, steps deleted}
COMPLEXITY  O(deleted)
WRITES      only expired and surplus rows
SOURCE      PIP-31 "transaction coordinator"; docs/decisions/0013
]]
--- @include "include/deadline"
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
