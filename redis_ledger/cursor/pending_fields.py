"""The fields of a subscription's pending hash, decoded: what transactions hold until they end.

"3-17"      the row of transaction 3-17 (pending_row.py)
"3-17/a0"   further ranges of it, "R 70-75-0"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from redis_ledger.cursor.pending_row import group_offset, group_time_ms, joined, parse, ranges_of
from redis_ledger.cursor.ranges import Range
from redis_ledger.ids import TxnId

_NAME = re.compile(rb"(\d+)-(\d+)(?:/(\w+))?\Z")


class PendingTransaction(NamedTuple):
    """What one transaction holds of a subscription on one partition.

    records     acknowledged in it; 0 for a Kafka group
    ranges      the first of them, ascending; has_more: there are others
    cumulative  of a cumulative acknowledgement, the last offset; of a Kafka group, the offset that it commits
    since_ms    of a Kafka group, when it sent the offset; else when the transaction began
    producer    id and transactional id of the producer that began the transaction, if a Kafka client did
    """

    transaction: TxnId
    records: int
    ranges: list[Range]
    has_more: bool
    cumulative: int | None
    since_ms: int
    producer: tuple[int, str] | None = None


def decode(fields: Mapping[bytes, bytes], mark: int, ranges_max: int, *, is_group: bool) -> list[PendingTransaction]:
    """Returns the transactions by id.  mark: ranges below it are ignored, since retention has removed their records."""
    held = dict[TxnId, list[Range]]()
    cumulative, since = dict[TxnId, int](), dict[TxnId, int]()
    for name, value in fields.items():
        named = _NAME.match(name)
        if named is None:
            continue
        txn = TxnId(int(named[1]), int(named[2]))
        ranges = held.setdefault(txn, [])
        if is_group:
            cumulative[txn], since[txn] = group_offset(value), group_time_ms(value)
        elif named[3]:
            ranges += ranges_of(value)
        else:
            row = parse(value)
            ranges += row.ranges
            if row.upto is not None:
                cumulative[txn] = row.upto
    found = []
    for txn in sorted(held):
        ranges = joined(held[txn], from_offset=mark)
        records = sum(last - first + 1 for first, last in ranges)
        more = len(ranges) > ranges_max
        since_ms = since.get(txn, txn.begun_ms)
        found.append(PendingTransaction(txn, records, ranges[:ranges_max], more, cumulative.get(txn), since_ms))
    return found


def holder(transactions: Iterable[PendingTransaction], offset: int, *, is_group: bool) -> TxnId | None:
    """The transaction that holds an offset; for a Kafka group, one that commits an offset above it."""
    for each in transactions:
        if is_group:
            if each.cumulative is not None and offset < each.cumulative:
                return each.transaction
        elif any(first <= offset <= last for first, last in each.ranges):
            return each.transaction
    return None
