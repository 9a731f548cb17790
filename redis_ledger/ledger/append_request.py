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
from redis_ledger.records.split_by_due import Later, Split
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Packed

OF_TRANSACTIONS = "t"  # the owner of a producer id whose transaction has been verified; twin of lua/include/producers
SMALL_BYTES = 4_096  # payload up to this is copied into one frame with its neighbours
ENTRY_COST = 8_192  # of a scheduled entry besides its bytes, so that a call has some 500 of them and stays short


class Scheduling(NamedTuple):
    """What a partition tells when entries were scheduled.  first_due_ms: of these; entries: in the open bucket."""

    first_due_ms: int
    entries: int
    ledger_bytes: int
    ledger_created_ms: int


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
    owner: str = ""  # of the producer id: who else writes under it is refused; "": it is not compared

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
    for is_split, group in groupby(batches, _is_split):
        yield is_split, list(group)


def length(is_split: bool, batches: Sequence[Batch]) -> int:
    """Commands of a stretch: its XADDs and its script call."""
    if not is_split:
        return len(batches) + 1
    return 1 + sum((b.split.now is not None) + len(b.split.later) for b in batches if b.split is not None)


def are_taken(batches: Sequence[Batch], replies: Sequence[Any]) -> bool:
    """Whether every stretch of a call went in as it is, its batches answered one by one: none will be sent again."""
    at = -1
    for is_split, some in stretches(batches):
        at += length(is_split, some)
        if not isinstance(replies[at], list) or replies[at][0] != Status.OK:
            return False
    return True


def payloads(batches: Sequence[Batch], data: bytes, delay_data: bytes) -> list[Any]:
    """The XADDs of a stretch of split batches."""
    commands: list[Any] = []
    shape = b"*8\r\n$4\r\nXADD\r\n$%d\r\n%b\r\n" % (len(delay_data), delay_data.replace(b"%", b"%%"))
    shape += b"$10\r\nNOMKSTREAM\r\n$3\r\n0-*\r\n$1\r\nb\r\n$%d\r\n%b\r\n$1\r\nd\r\n$%d\r\n%b\r\n"
    for batch in batches:
        split = batch.split
        assert split is not None
        if split.now is not None:
            commands.append((b"XADD", data, b"NOMKSTREAM", b"0-*", b"b", split.now.payload))
        small: list[bytes] = []
        for later in split.later:
            payload, due = later.payload, b"%d" % later.due_ms
            if len(payload) > SMALL_BYTES or later.dues:
                if small:
                    commands.append(Packed(b"".join(small), len(small)))
                    small = []
                commands.append((b"XADD", delay_data, b"NOMKSTREAM", b"0-*", b"b", payload, b"d", _due(later)))
            else:
                small.append(shape % (len(payload), payload, len(due), due))
        if small:
            commands.append(Packed(b"".join(small), len(small)))
    return commands


def plain_arguments(batches: Sequence[Batch]) -> list[Any]:
    """ARGV of ledger/append from the batches on."""
    args: list[Any] = []
    for batch in batches:
        txn = batch.txn
        args += (
            batch.records, len(batch.payload), batch.max_timestamp_ms, batch.producer_id, batch.epoch, batch.sequence,
            0 if txn is None else txn.coordinator, "" if txn is None else txn.serial, 1 if batch.verified else 0,
            batch.owner,
        )  # fmt: skip
    return args


def arguments(batches: Sequence[Batch], delay_ledger: int) -> list[Any]:
    """ARGV of ledger/schedule from the originals on."""
    args: list[Any] = []
    front = f"{delay_ledger} "
    for batch in batches:
        split, txn = batch.split, batch.txn
        assert split is not None
        now = split.now
        args += (
            batch.records, batch.producer_id, batch.epoch, batch.sequence, 0 if txn is None else txn.coordinator,
            "" if txn is None else txn.serial, 1 if batch.verified else 0, 0 if now is None else now.records,
            0 if now is None else len(now.payload), 0 if now is None else now.newest_ms, len(split.later),
            sum([each.records for each in split.later]), sum([len(each.payload) for each in split.later]),
            sum([bool(each.dues) for each in split.later]), batch.owner,
        )  # fmt: skip
        for payload, records, newest_ms, due_ms, dues in split.later:
            args.append(",".join(map(str, dues)) if dues else due_ms)
            args.append(f"{front}{records} {len(payload)} {newest_ms}")
    return args


def _due(later: Later) -> int | str:
    return ",".join(map(str, later.dues)) if later.dues else later.due_ms
