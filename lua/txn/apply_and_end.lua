#!lua flags=allow-oom
--[[ txn/apply_and_end: decide transactions, end them on their partitions and complete them, in one call.

Only where one server has all keys (docs/decisions/0035).  It stores what txn/apply, txn/end and "complete" store one after the
other.  A transaction that this call cannot carry out whole is only decided, as by txn/apply: one with another producer id
or a participant that is not among the places, with scheduled batches, or with more pending acknowledgements than one call settles.

KEYS        1 state  2 txns  3 order  4 deadlines  5 outcomes  6 forget  7 nonces  8 calls  9 log  10 live  11 ids  12 steps
            13 wide, as of txn/apply
            14.. for each place: the eleven keys of txn/end, and six for each subscription: cursor acks leases spans due pending
ARGV        1 now_ms  2 broker  3 call number  4 retention of outcomes  5 most outcomes  6 most open transactions
            7 overdue after ms  8 batched entries  9 retention of steps  10 most steps, as of txn/apply
            11 coordinator  12 tombstone_ms  13 number of operations  14 number of transactions to end  15 number of places
            16.. operations, as of txn/apply
            then the transactions: serial  producer id  number in it; and the places: topic/topic id/partition  topic id  channel to
            publish to  subscriptions (n) and their names as participants have them
RETURNS     as txn/apply; then whether each transaction to end has "C" committed, "A" aborted or "" not ended here, and the markers:
            place (from 0)  producer id  epoch  1 or 0 (commit)  offset, both arrays in MessagePack
            The reply to an operation whose transaction has ended here is the one that a repeated operation gets.
COMPLEXITY  that of txn/apply, and of txn/end at each place, with at most 300 ranges of acknowledgements in all
WRITES      after every operation was decided: first the partitions, then the coordinator.  A partition that fails keeps its
            transaction decided, not completed
SOURCE      PIP-31 "end transaction"; docs/decisions/0035
]]
--- @include "include/deadline"
local first_op, last_op = 16, 13 + 3 * tonumber(ARGV[13])
--- @include "include/txn_apply"
--- @include "include/end_transactions"
--- @include "include/end_at_once"

-- Everything below writes.
local ended, markers = end_at_once()
--- @include "include/txn_write"
return { OK, lowest, following_text, packed, logged, cmsgpack.pack(ended), cmsgpack.pack(markers) }
