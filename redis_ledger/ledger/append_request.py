"""Append requests of a partition, and the arguments of the scripts that accept them (append_calls.py).

Source: PIP-195; docs/decisions/0012, 0044.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from itertools import groupby
from typing import Any, NamedTuple

from redis_ledger.ids import TxnId
from redis_ledger.ledger.registration import Registration
from redis_ledger.records.batch import BatchHeader, stamp
from redis_ledger.records.split_by_due import Later, Split
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Packed

OF_CHUNKS = "chunk"  # the owner of a chunk of a large message; twin of lua/ledger/append
OF_TRANSACTIONS = "t"  # the owner of a producer id whose transaction has been verified; twin of lua/include/producers
TIMESTAMP_MAX = (1 << 53) - 1  # the largest number that Lua compares exactly
PINNED_BYTES = 16 * 1024  # a smaller payload is copied: a view in the tail cache would keep its whole request in memory
SMALL_BYTES = 4_096  # payload up to this is copied into one frame with its neighbours
ENTRY_COST = 8_192  # of a scheduled entry besides its bytes, so that a call has some 500 of them and stays short


class Scheduling(NamedTuple):
    """A notice that entries were scheduled.  first_due_ms: of these entries; entries: in the open bucket."""

    first_due_ms: int
    entries: int
    ledger_bytes: int
    ledger_created_ms: int


class Accepted(NamedTuple):
    """base_offset: -1 if no record was due now.  first_entry: of the scheduled entries, -1 if none.  append_ms: with
    LogAppendTime the time of all its records, else -1."""

    base_offset: int
    leader_epoch: int
    duplicate: bool
    first_entry: int = -1
    append_ms: int = -1


def accepted(answer: Sequence[Any], leader_epoch: int) -> Accepted:
    """A repeated batch may be split differently than the first one: records that were scheduled may be due now."""
    at = int(answer[1])
    return Accepted(max(at, -1), leader_epoch, answer[0] == Status.DUPLICATE, -at - 1 if at < -1 else -1)


class AppendRequest(NamedTuple):
    """A checked record batch to append to a partition.

    payload, max_timestamp_ms   of a batch that is due as a whole; unused with `split`
    records                     of the whole batch
    owner                       the principal that alone may write under the producer id; "": not compared; OF_CHUNKS:
                                a chunk of a large message
    split                       the batch by due time, if some of its records are due later
    """

    payload: bytes | memoryview
    records: int
    max_timestamp_ms: int
    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1
    owner: str = ""
    split: Split | None = None

    @property
    def size(self) -> int:
        """Its share of a call: bytes, and a fixed cost for every scheduled entry."""
        if self.split is None:
            return len(self.payload)
        later = sum(len(each.payload) + ENTRY_COST for each in self.split.later)
        return later + (0 if self.split.now is None else len(self.split.now.payload))

    @property
    def is_idempotent(self) -> bool:
        return self.producer_id >= 0 and self.sequence >= 0


class Kind(Enum):
    """How a batch is written.  PLAIN: to the log.  SPLIT: some records are due later.  ASIDE: to the sidecar buffer."""

    PLAIN = auto()
    SPLIT = auto()
    ASIDE = auto()


class QueuedAppend(NamedTuple):
    """An append request in the partition's queue, and the transaction it belongs to.

    txn        or the registration that was sent right before the batch
    verified   the coordinator has confirmed that the transaction is open and has this partition
    deadline   when the request is no longer sent again, s
    in_doubt   it was sent before and its reply was lost: only a script can tell whether it was written
    awaits_replicas  at durability `replicas` it is answered when enough replicas have it
    is_aside   its records that are due now belong to the sidecar buffer
    """

    request: AppendRequest
    txn: TxnId | Registration | None
    verified: bool
    future: Any  # asyncio.Future[Accepted]
    deadline: float
    in_doubt: bool = False
    awaits_replicas: bool = True
    is_aside: bool = False


def append_request(data: bytes | memoryview, header: BatchHeader, owner: str = "") -> AppendRequest:
    """The request for a checked RecordBatch v2."""
    if type(data) is memoryview and len(data) < PINNED_BYTES:
        data = bytes(data)
    return AppendRequest(
        data, header.count, header.max_timestamp, header.producer_id, header.producer_epoch, header.base_sequence, owner
    )


def stamped(request: AppendRequest, append_ms: int) -> AppendRequest:
    """With the time at which the broker received it.  Records that are due later keep their own."""
    split = request.split
    if split is None:
        return request._replace(payload=stamp(request.payload, append_ms), max_timestamp_ms=append_ms)
    if split.now is None:
        return request
    now = split.now._replace(payload=stamp(split.now.payload, append_ms), newest_ms=append_ms)
    return request._replace(split=split._replace(now=now))


def split_request(request: AppendRequest, split: Split) -> AppendRequest:
    """The same batch with its records by due time."""
    return request._replace(payload=b"", max_timestamp_ms=-1, split=split)


def _kind(item: QueuedAppend) -> Kind:
    if item.request.split is not None:
        return Kind.SPLIT
    return Kind.ASIDE if item.is_aside else Kind.PLAIN


def stretches(items: Sequence[QueuedAppend]) -> Iterator[tuple[Kind, list[QueuedAppend]]]:
    """Neighbours of one kind."""
    for kind, group in groupby(items, _kind):
        yield kind, list(group)


def length(kind: Kind, items: Sequence[QueuedAppend]) -> int:
    """The number of commands of a stretch: its XADDs and its script call."""
    if kind is not Kind.SPLIT:
        return len(items) + 1
    splits = [item.request.split for item in items]
    return 1 + sum((split.now is not None) + len(split.later) for split in splits if split is not None)


def all_accepted(items: Sequence[QueuedAppend], replies: Sequence[Any]) -> bool:
    """Whether the script answered each batch of a call by itself, so that none has to be sent again."""
    at = -1
    for kind, some in stretches(items):
        at += length(kind, some)
        if not isinstance(replies[at], list) or replies[at][0] != Status.OK:
            return False
    return True


def payload_commands(items: Sequence[QueuedAppend], data: bytes, delay_data: bytes) -> list[Any]:
    """The XADDs of a stretch of split batches."""
    commands: list[Any] = []
    shape = b"*8\r\n$4\r\nXADD\r\n$%d\r\n%b\r\n" % (len(delay_data), delay_data.replace(b"%", b"%%"))
    shape += b"$10\r\nNOMKSTREAM\r\n$3\r\n0-*\r\n$1\r\nb\r\n$%d\r\n%b\r\n$1\r\nd\r\n$%d\r\n%b\r\n"
    for item in items:
        split = item.request.split
        assert split is not None
        if split.now is not None:
            place = delay_data if item.is_aside else data
            commands.append((b"XADD", place, b"NOMKSTREAM", b"0-*", b"b", split.now.payload))
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


def append_arguments(items: Sequence[QueuedAppend], keys: int) -> tuple[list[Any], list[bytes]]:
    """ARGV of ledger/append from the batches on, and further KEYS after so many."""
    args: list[Any] = []
    further: list[bytes] = []
    for (payload, records, newest_ms, producer_id, epoch, sequence, owner, _), txn, verified, *_ in items:
        if txn is None:
            args += (
                records, len(payload), min(newest_ms, TIMESTAMP_MAX), producer_id, epoch, sequence, 0, "", 0, owner
            )  # fmt: skip
            continue
        verification: tuple[Any, Any, Any]
        if isinstance(txn, Registration):
            if txn.calls not in further:
                further.append(txn.calls)
            verification = txn.arguments(keys + 1 + further.index(txn.calls))
        else:
            verification = (txn.coordinator, txn.serial, 1 if verified else 0)
        args += (
            records, len(payload), min(newest_ms, TIMESTAMP_MAX), producer_id, epoch, sequence, *verification,
            OF_CHUNKS if owner == OF_CHUNKS else OF_TRANSACTIONS,
        )  # fmt: skip
    return args, further


def schedule_arguments(items: Sequence[QueuedAppend], delay_ledger: int) -> list[Any]:
    """ARGV of ledger/schedule from the originals on."""
    args: list[Any] = []
    front = f"{delay_ledger} "
    for item in items:
        request, split, txn = item.request, item.request.split, item.txn
        assert split is not None
        assert not isinstance(txn, Registration)
        now = split.now
        args += (
            request.records, request.producer_id, request.epoch, request.sequence,
            0 if txn is None else txn.coordinator, "" if txn is None else txn.serial,
            1 if txn is not None and item.verified else 0, 0 if now is None else now.records,
            0 if now is None else len(now.payload), 0 if now is None else now.newest_ms, len(split.later),
            sum([each.records for each in split.later]), sum([len(each.payload) for each in split.later]),
            sum([bool(each.dues) for each in split.later]), request.owner if txn is None else OF_TRANSACTIONS,
            int(item.is_aside),
        )  # fmt: skip
        for payload, records, newest_ms, due_ms, dues in split.later:
            args.append(",".join(map(str, dues)) if dues else due_ms)
            args.append(f"{front}{records} {len(payload)} {newest_ms}")
    return args


def _due(later: Later) -> int | str:
    return ",".join(map(str, later.dues)) if later.dues else later.due_ms
