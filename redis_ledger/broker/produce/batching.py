"""The records of one request on one partition, cut into batches that a call to Redis can take.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import RequestTooLarge

RECORD_OVERHEAD_BYTES = 32  # a generous bound on what a record adds to its key, value and headers
DUES_MAX = 250  # due times in one batch

Given = TypeVar("Given")


def by_due_times(
    records: Sequence[Given], dues: Sequence[int | None]
) -> Iterator[tuple[list[Given], list[int | None] | None]]:
    """Neighbours with at most DUES_MAX due times, and their due times; None where all of them are due now."""
    first, seen = 0, set[int]()
    for at, due in enumerate(dues):
        if due is not None and due not in seen:
            if len(seen) == DUES_MAX:
                yield list(records[first:at]), list(dues[first:at])
                first, seen = at, set()
            seen.add(due)
    yield list(records[first:]), list(dues[first:]) if seen else None


def by_bytes(records: list[NewRecord], limit: int) -> list[list[NewRecord]]:
    """Groups that each fit into one batch of so many bytes.  Raises RequestTooLarge."""
    groups: list[list[NewRecord]] = [[]]
    total = 0
    for record in records:
        size = RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
        for name, value in record.headers:
            size += 8 + len(name) * 4 + len(value or b"")
        if size > limit - 128:
            raise RequestTooLarge(
                f"A record of {size} bytes does not fit into a batch of {limit}; nothing was written."
            )
        if groups[-1] and total + size > limit - 128:
            groups.append([])
            total = 0
        groups[-1].append(record)
        total += size
    return groups
