"""Cutting batches by due time, as appends do it, without an event loop."""

from __future__ import annotations

from typing import Any

from redis_ledger.records.batch import read_header
from redis_ledger.records.split_by_due import DueOf, Split, part

RECEIVED_MS = 1_700_000_100_000


def due_of(at_ms: int | None, after_ms: int | None) -> int | None:
    """None: now, which is RECEIVED_MS."""
    due = at_ms if after_ms is None else RECEIVED_MS + after_ms
    return None if due is None or due <= RECEIVED_MS else due


def parted(data: bytes, rule: DueOf = due_of) -> Split | None:
    return parted_in_steps(data, rule)[0]


def cut(data: bytes) -> Any:
    """Of a batch in which something waits."""
    found = parted(data)
    assert found is not None, "nothing waits"
    return found


def parted_in_steps(data: bytes, rule: DueOf = due_of) -> tuple[Split | None, int]:
    """And how often it paused."""
    steps, pauses = part(read_header(data), data, rule), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Split | None = end.value
            return found, pauses
        pauses += 1
