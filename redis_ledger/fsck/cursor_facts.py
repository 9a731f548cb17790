"""Facts of one subscription on one partition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from redis_ledger.cursor import ack_chunks

_RANGE = re.compile(rb"(\d+)-(\d+)-(\d+)")


class Lease(NamedTuple):
    first: int
    last: int
    consumer: str
    count: int  # type: ignore[assignment]  # tuple.count is not used
    deadline: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def is_nobodys(self) -> bool:
        return self.consumer in ("", "%")

    @classmethod
    def parse(cls, name: bytes, row: bytes | None) -> Lease | None:
        """None if there is none, or it has another form."""
        words = (row or b"").split(b" ")
        if len(words) not in (4, 5) or not name.isdigit():
            return None
        last, consumer, count, deadline = words[:4]
        if not (last.isdigit() and count.isdigit() and deadline.isdigit()) or int(last) < int(name):
            return None
        return cls(int(name), int(last), consumer.decode(errors="replace"), int(count), int(deadline))


class CursorFacts(NamedTuple):
    """All of one moment.  leases, pending, acks: fields and values; start, following: of the partition.  queues, due:
    of a key_shared subscription, which has no other leases."""

    cursor: Mapping[bytes, bytes]
    leases: Mapping[bytes, bytes]
    pending: Mapping[bytes, bytes]
    acks: Mapping[bytes, bytes]
    start: int
    following: int
    queues: Mapping[bytes, bytes] = MappingProxyType({})
    due: Mapping[bytes, int] = MappingProxyType({})


def pending_ranges(pending: Mapping[bytes, bytes]) -> list[tuple[int, int]]:
    """First and last offset of what transactions hold, ascending."""
    found = []
    for value in pending.values():
        body = value.rpartition(b" ")[2]
        found += [(int(first), int(last)) for first, last, _ in _RANGE.findall(body)]
    return sorted(found)


def acked(acks: Mapping[bytes, bytes], first: int, end: int) -> list[tuple[int, int]]:
    """Acknowledged offsets from first to end (exclusive), ascending, first and last."""
    return [(low, high) for low, high in ack_chunks.ranges(acks, first, end)]


def size(ranges: list[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def clipped(ranges: list[tuple[int, int]], first: int) -> list[tuple[int, int]]:
    """The parts of ranges from `first` on."""
    return [(max(low, first), high) for low, high in ranges if high >= first]


def complement(ranges: list[tuple[int, int]], first: int, end: int) -> list[tuple[int, int]]:
    """What is left of first to end (exclusive) without the ranges, which are sorted and may overlap."""
    left, at = list[tuple[int, int]](), first
    if first >= end:
        return left
    for low, high in ranges:
        if low > at:
            left.append((at, min(low, end) - 1))
        at = max(at, high + 1)
        if at >= end:
            break
    if at < end:
        left.append((at, end - 1))
    return left


def overlaps(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is in both; each sorted and without overlaps of its own."""
    found, i, j = [], 0, 0
    while i < len(some) and j < len(others):
        low, high = max(some[i][0], others[j][0]), min(some[i][1], others[j][1])
        if low <= high:
            found.append((low, high))
        if some[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return found
