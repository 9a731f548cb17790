"""Records of batches that were decoded a moment ago, for the consumers that get the rest of them.

A batch of a key_shared subscription has records for several consumers.  Without this it is decoded once for each of
them, and once for the keys of its records.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from redis_ledger.ledger.entries import LogEntry
from redis_ledger.ledger.partition import Partition
from redis_ledger.records.read import Record

BYTES_MAX = 32 << 20
RECORD_BYTES = 300  # of a decoded record, without what it holds
APART_MS = 1_000  # between the times of a batch in the log and in the cache of the broker that appended it

Batch = tuple[str, int, int, int, int]  # topic id, partition, leader epoch, base offset, size


class _Decoded(NamedTuple):
    records: list[Record]
    appended_ms: int
    size: int


class DecodedBatches:
    """Keeps the batches used last, of all topics.

    A Redis that came back older may give an offset to another batch: that has a later leader epoch, or a later time.
    """

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._kept: OrderedDict[Batch, _Decoded] = OrderedDict()
        self._bytes_max, self._bytes = bytes_max, 0

    def get(self, partition: Partition, entry: LogEntry) -> list[Record] | None:
        """All records of a batch, with offsets from 0; None if they are not kept."""
        at = _batch(partition, entry)
        found = self._kept.get(at)
        if found is None or abs(found.appended_ms - entry.appended_ms) > APART_MS:
            return None
        self._kept.move_to_end(at)
        return found.records

    def put(self, partition: Partition, entry: LogEntry, records: list[Record]) -> None:
        """Keeps them, unless they are very large."""
        decoded = _Decoded(records, entry.appended_ms, sum(map(_size, records)))
        if decoded.size > self._bytes_max // 4:
            return
        at = _batch(partition, entry)
        if (before := self._kept.pop(at, None)) is not None:
            self._bytes -= before.size
        self._kept[at] = decoded
        self._bytes += decoded.size
        while self._bytes > self._bytes_max:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= gone.size


def _batch(partition: Partition, entry: LogEntry) -> Batch:
    return partition.topic_id, partition.number, partition.offsets.leader_epoch, entry.base_offset, entry.size


def _size(record: Record) -> int:
    size = RECORD_BYTES + len(record.key or b"") + len(record.value or b"")
    if record.headers:
        size += sum(RECORD_BYTES + len(name) + len(value or b"") for name, value in record.headers)
    return size
