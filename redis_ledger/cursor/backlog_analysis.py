"""What a subscription's backlog consists of, counted by kind.

    offset     4     5      6     7      8 9 10    11     12
    log        a     b·t1   ✓t1   c·t2   d d d     ✗t2    e·t3        t3 open: the stable offset is 12
    cursor     acked leased                                           mark-delete position 4
    counts     ack.  record mark. abort. 3 records mark.  undecided

A backlog in offsets is an upper bound: it includes markers, aborted records and acknowledged ones.  Pure.
Source: Pulsar's analyze-backlog; requirement TB-30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from redis_ledger.cursor.ack_chunks import CHUNK
from redis_ledger.ledger.entries import Aborted, LogEntry, is_aborted


@dataclass(slots=True)
class BacklogCounts:
    """entries: of the log that were read.  batches, records: deliverable and not acknowledged yet, leased and pending
    ones included.  acknowledged: deliverable records beyond the mark-delete position.  undecided: records above the
    stable offset."""

    entries: int = 0
    batches: int = 0
    records: int = 0
    acknowledged: int = 0
    markers: int = 0
    aborted_batches: int = 0
    aborted_records: int = 0
    undecided: int = 0

    def add(self, others: BacklogCounts) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(others, name))


def count(
    entries: Iterable[LogEntry], from_offset: int, stable: int, aborted: Sequence[Aborted], acks: Mapping[int, bytes]
) -> BacklogCounts:
    """Counts entries from an offset on.  acks: number of the chunk → bitmap of acknowledged offsets."""
    counts = BacklogCounts()
    for entry in entries:
        first, last = max(entry.base_offset, from_offset), entry.last_offset
        records = last - first + 1
        counts.entries += 1
        if entry.is_marker:
            counts.markers += 1
        elif first >= stable:
            counts.undecided += records
        elif is_aborted(entry, aborted):
            counts.aborted_batches += 1
            counts.aborted_records += records
        else:
            acknowledged = bits_set(acks, first, last)
            counts.acknowledged += acknowledged
            counts.records += records - acknowledged
            counts.batches += records > acknowledged
    return counts


def bits_set(acks: Mapping[int, bytes], first: int, last: int) -> int:
    """How many of the offsets first to last are acknowledged."""
    total = 0
    for number in range(first // CHUNK, last // CHUNK + 1):
        bits = acks.get(number)
        if bits:
            base = number * CHUNK
            low, high = max(first - base, 0), min(last - base, CHUNK - 1)
            value = int.from_bytes(bits.ljust(CHUNK // 8, b"\0"), "big")
            width = high - low + 1
            total += (value >> (CHUNK - 1 - high) & ((1 << width) - 1)).bit_count()
    return total
