#!lua flags=allow-oom
--[[ txn/end: apply decisions to one partition: markers, aborted set, stable offset, pending acks and offsets, tombstones.

One call ends any number of transactions.  An end whose serial is not the open one only writes its tombstone (and settles
its acks and offsets), so a repeated or late end has no visible effect.  Every end carries the low watermark, which is
raised, never lowered; open transactions at or below it are leftovers and are aborted.

KEYS        1 state  2 ledgers  3 log  4 producers  5 open  6 firsts  7 aborted  8 ended  9 watermarks  10 subs
            11 delay state  12 sidecar
            13.. six keys for each subscription of the operations: cursor acks leases spans due pending; for a Kafka
            group, which has only two, cursor cursor cursor cursor cursor pending
ARGV        1 topic_id  2 now_ms  3 tombstone_ms  4 number of operations
            5 channel to publish to (leader epoch, next offset, stable offset)
            6.. operations: producer_id coordinator serial commit (1 or 0) watermark ("" none) forget producer (1 or 0)
            subscriptions (n) and n indexes into the subscriptions of KEYS, from 0
RETURNS     {OK, marker offset, -1 or "more", ...} one for each operation, "last+records" (its last offset and the number
            of its records) for one committed in the sidecar buffer; behind it " used,used...": "o" and the offset of its
            first batch, and the time of its first ack on each of its subscriptions ("_" without one, "?" if that is
            not known); "more": only a part of its acks was settled, the call has to be repeated; after them the
            transactions with scheduled batches for delay/settle, if any
            | {UNKNOWN_TOPIC} | {STALE} a Kafka group of the call is a subscription now
COMPLEXITY  O(operations · log n) for n open transactions, plus the ranges of the acks that are settled, at most 300 in a call
WRITES      everything above, one transaction in one step; calls with "more" settle only acks
SOURCE      PIP-31 "end transaction"; transaction buffer RFC "low watermark"; docs/decisions/0001
]]
--- @include "include/deadline"
--- @include "include/end_transactions"
return (end_transactions(KEYS, ARGV, ROOM, LEFTOVERS))
