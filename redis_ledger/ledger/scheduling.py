"""Scheduled entries on their way into a partition: the call that carries them, next to plain appends.

    one MULTI   XADD data:1   XADD data:1   ledger/append     plain batches
                XADD data:-1  XADD data:-1  ledger/schedule   batches with records that are due later
                ...

Batches keep their order: a stretch of one kind is one script call, and the stretches travel in one MULTI.
Source: PIP-195; docs/decisions/0012.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from redis_ledger.ids import TxnId
from redis_ledger.records.later import Later, Split

ENTRY_COST = 512  # of a scheduled entry besides its bytes, so that a call stays short


class Batch(NamedTuple):
    """A batch on its way.  payload, max_timestamp_ms: of a plain one; with `split`, records are the original's."""

    payload: bytes | memoryview
    records: int
    max_timestamp_ms: int
    producer_id: int
    epoch: int
    sequence: int
    txn: TxnId | None
    verified: bool
    future: Any  # asyncio.Future[Accepted]
    deadline: float
    in_doubt: bool = False  # it was sent before and its reply was lost: only a script can say that it is not written
    split: Split | None = None

    @property
    def size(self) -> int:
        """What it counts for in a call: bytes, and something for every scheduled entry."""
        if self.split is None:
            return len(self.payload)
        later = sum(len(each.payload) + ENTRY_COST for each in self.split.later)
        return later + (0 if self.split.now is None else len(self.split.now.payload))

    @property
    def is_idempotent(self) -> bool:
        return self.producer_id >= 0 and self.sequence >= 0


def _is_split(batch: Batch) -> bool:
    return batch.split is not None


def stretches(batches: Sequence[Batch]) -> Iterator[tuple[bool, list[Batch]]]:
    """Neighbours of one kind: whether they are split, and they."""
    for is_split, some in groupby(batches, _is_split):
        yield is_split, list(some)


def length(is_split: bool, batches: Sequence[Batch]) -> int:
    """Commands of a stretch: its XADDs and its script call."""
    if not is_split:
        return len(batches) + 1
    return 1 + sum((b.split.now is not None) + len(b.split.later) for b in batches if b.split is not None)


def payloads(batches: Sequence[Batch], data: bytes, delay_data: bytes) -> list[Any]:
    """The XADDs of a stretch of split batches."""
    commands: list[Any] = []
    for batch in batches:
        split = batch.split
        assert split is not None
        if split.now is not None:
            commands.append((b"XADD", data, b"NOMKSTREAM", b"0-*", b"b", split.now.payload))
        for later in split.later:
            commands.append((b"XADD", delay_data, b"NOMKSTREAM", b"0-*", b"b", later.payload, b"d", _due(later)))
    return commands


def arguments(batches: Sequence[Batch], delay_ledger: int) -> list[Any]:
    """ARGV of ledger/schedule from the originals on."""
    args: list[Any] = []
    for batch in batches:
        split, txn = batch.split, batch.txn
        assert split is not None
        now = split.now
        args += (
            batch.records, batch.producer_id, batch.epoch, batch.sequence, 0 if txn is None else txn.coordinator,
            "" if txn is None else txn.serial, 1 if batch.verified else 0, 0 if now is None else now.records,
            0 if now is None else len(now.payload), 0 if now is None else now.newest_ms, len(split.later),
        )  # fmt: skip
        for later in split.later:
            args.append(_due(later))
            args.append(f"{delay_ledger} {later.records} {len(later.payload)} {later.newest_ms}")
    return args


def _due(later: Later) -> int | str:
    return ",".join(map(str, later.dues)) if later.dues else later.due_ms
