"""One function for each script in lua/cursor/: the only code that knows the order of their KEYS and ARGV.

`now_ms` comes from the caller.  Consumers are named by any text; it is percent-encoded on the way in and decoded on the
way out.  All calls may be repeated: a call whose reply was lost is sent again by the store.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from redis_ledger.cursor.ranges import Range, flat, size
from redis_ledger.errors import (
    ConsumerBusy,
    LedgerError,
    NotDelivered,
    NotYourMessage,
    OffsetOutOfRange,
    OutcomeUnknown,
    SubscriptionExists,
    TransactionConflict,
    TransactionEnded,
    UnknownSubscription,
    UnknownTopic,
    WrongSubscriptionKind,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.log import LogEntry
from redis_ledger.store.keys import PartitionKeys, encode_name
from redis_ledger.store.replies import Status
from redis_ledger.store.store import Script, Store

Kind = Literal["exclusive", "shared", "kafka"]  # kafka: a consumer group's offset (cursor/offsets.py)
Where = int | Literal["earliest", "latest"]

BACKLOG_ENTRIES = 1_000  # log entries that stats looks at

_CREATE = Script.load("cursor/create")
_DELETE = Script.load("cursor/delete")
_RECEIVE = Script.load("cursor/receive")
_ACK = Script.load("cursor/ack")
_ACK_CUMULATIVE = Script.load("cursor/ack_cumulative")
_HOLD = Script.load("cursor/hold")
_HOLD_MANY = Script.load("cursor/hold_many")
_NACK = Script.load("cursor/nack")
_SEEK = Script.load("cursor/seek")
_STATS = Script.load("cursor/stats")


class Delivery(NamedTuple):
    """Records first to last of one batch, leased.  From `ledger` on, the fields are those of the batch's log entry."""

    first: int
    last: int
    deliveries: int  # how often these records were delivered before
    ledger: int
    entry: int
    base: int
    records: int
    batch_bytes: int
    producer: bytes
    flags: int
    appended_ms: int

    @property
    def entry_of_log(self) -> LogEntry:
        """Of the batch, as far as it is told."""
        return LogEntry(
            self.ledger, self.entry, self.base, self.records, self.batch_bytes, int(self.producer), -1, -1, self.flags,
            self.appended_ms, -1,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """These records' share of the batch's bytes."""
        return self.batch_bytes * (self.last - self.first + 1) // max(self.records, 1)


class Received(NamedTuple):
    """more: there is more right now.  next_due_ms: when the next lease runs out or delayed record is due; -1 none."""

    deliveries: list[Delivery]
    mark: int
    read: int
    stable: int
    more: bool
    next_due_ms: int


class Standing(NamedTuple):
    """Where a subscription stands on one partition.

    mark     everything below is acknowledged          acked    offsets acknowledged beyond it
    read     everything below was dispatched           stable   how far dispatch may go
    backlog  leased, held in transactions, or still to be dispatched.  Exact while at most BACKLOG_ENTRIES log entries
             lie between read and stable; beyond those it counts offsets, so markers and aborted records are in it.

    Of a Kafka group: mark and read are its offset (-1: none), stable is the log's end, held the number of transactions
    that have another offset pending, and backlog the number of offsets to the end.
    """

    kind: Kind
    mark: int
    read: int
    stable: int
    acked: int
    leased: int
    held: int
    backlog: int
    is_exact: bool
    delivered: int
    redelivered: int
    consumer: str
    consumer_until_ms: int
    created_ms: int
    next_due_ms: int


async def create(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    kind: Literal["exclusive", "shared"],
    start: Where,
    now_ms: int,
) -> bool:
    """True when this call made it.  Raises SubscriptionExists when it is there with another kind."""
    args = (topic_id, encode_name(name), kind, start, now_ms)
    reply = await store.call(_CREATE, (keys.state, keys.subs, *keys.sub(name).all()), args)
    if reply[0] == Status.EXISTS:
        raise SubscriptionExists(
            f"Subscription {name!r} exists and is {_text(reply[1])}; use it so, or choose another name."
        )
    return bool(_checked(reply, name)[1])


async def delete(store: Store, keys: PartitionKeys, topic_id: str, name: str) -> bool:
    """True when it was there."""
    sub = keys.sub(name).all()
    reply = await store.call(_DELETE, (keys.state, keys.subs, *sub), (topic_id, encode_name(name)))
    return bool(_checked(reply, name)[1])


async def receive(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    consumer: str,
    *,
    now_ms: int,
    records_max: int,
    bytes_max: int,
    ack_timeout_ms: int,
    session_ms: int,
) -> Received:
    """Leases due records first, then new ones.  bytes_max is soft: the batch that passes it is delivered whole.

    Raises ConsumerBusy (with the owner and how long its session lasts) on an exclusive subscription.
    """
    places = (keys.state, keys.log, keys.aborted, *keys.sub(name).all())
    args = (topic_id, _token(consumer), now_ms, records_max, bytes_max, ack_timeout_ms, session_ms)
    try:
        reply = await store.call(_RECEIVE, places, (*args, 0), retry=False)
    except OutcomeUnknown:
        # What the lost reply leased is leased once more by this call; else it would come late, and out of order.
        reply = await store.call(_RECEIVE, places, (*args, 1))
    _checked(reply, name)
    deliveries = [
        Delivery(
            reply[i], reply[i + 1], reply[i + 2], int(reply[i + 3]), int(reply[i + 4]), int(reply[i + 5]),
            int(reply[i + 6]), int(reply[i + 7]), reply[i + 8], int(reply[i + 9]), int(reply[i + 10]),
        )
        for i in range(6, len(reply), 11)
    ]  # fmt: skip
    return Received(deliveries, reply[1], reply[2], reply[3], reply[4] == 1, reply[5])


async def ack(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    consumer: str,
    ranges: Sequence[Range],
    *,
    now_ms: int,
) -> int:
    """How many of these offsets are acknowledged now; those that a transaction holds are left to it and not counted.

    All or nothing.  Raises NotYourMessage, NotDelivered.
    """
    args: list[str | int] = [topic_id, _token(consumer), now_ms, *flat(ranges)]
    reply = await store.call(_ACK, (keys.state, *keys.sub(name).all()), args)
    return int(_checked(reply, name)[1])


async def ack_cumulative(
    store: Store, keys: PartitionKeys, topic_id: str, name: str, consumer: str, offset: int, *, now_ms: int
) -> int:
    """How many offsets this call has acknowledged: all up to `offset` that were not, save what transactions hold.

    Raises WrongSubscriptionKind on a shared subscription, ConsumerBusy, NotDelivered.
    """
    args = (topic_id, _token(consumer), now_ms, offset)
    reply = await store.call(_ACK_CUMULATIVE, (keys.state, *keys.sub(name).all()), args)
    return int(_checked(reply, name)[1])


async def hold(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    consumer: str,
    txn: TxnId,
    ranges: Sequence[Range],
    *,
    now_ms: int,
) -> int:
    """How many offsets the transaction holds of these (all of them); this subscription must be registered with it.

    All or nothing.  Raises TransactionConflict, TransactionEnded, NotYourMessage, NotDelivered.
    """
    args: list[str | int] = [topic_id, _token(consumer), now_ms, txn.coordinator, txn.serial, "", *flat(ranges)]
    return await _hold(store, keys, name, args)


async def hold_many(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    holds: Sequence[tuple[str, TxnId, Sequence[Range]]],
    *,
    now_ms: int,
) -> bool:
    """The holds of several transactions (consumer, transaction, ranges) at once.  False: one of them is in doubt, and
    nothing was done; hold decides on each.  A repetition finds its own holds and says False, which is right as well."""
    args: list[str | int] = [topic_id, now_ms, len(holds)]
    spread: list[tuple[int, int, int]] = []
    for number, (consumer, txn, ranges) in enumerate(holds, 1):
        args += (_token(consumer), txn.coordinator, txn.serial, size(ranges))
        spread += [(first, last, number) for first, last in ranges]
    spread.sort()
    if any(here[1] >= following[0] for here, following in pairwise(spread)):
        return False
    for triple in spread:
        args += triple
    reply = await store.call(_HOLD_MANY, (keys.state, keys.ended, keys.watermarks, *keys.sub(name).all()), args)
    return bool(reply[0] == Status.OK)


async def hold_cumulative(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    consumer: str,
    txn: TxnId,
    offset: int,
    *,
    now_ms: int,
) -> int:
    """How many offsets the transaction holds on this partition now.  A second call must name a higher offset (AK-13).

    Raises as hold, and WrongSubscriptionKind, ConsumerBusy.
    """
    args = (topic_id, _token(consumer), now_ms, txn.coordinator, txn.serial, secrets.token_hex(6), offset)
    return await _hold(store, keys, name, args)


async def nack(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    consumer: str,
    ranges: Sequence[Range] | None,
    *,
    now_ms: int,
    delay_ms: int = 0,
    unseen: bool = False,
) -> int:
    """How many records were handed back: of these ranges (None: of all) those that this consumer has leased.

    unseen: it was not given them, so that this does not count as a delivery.
    """
    if ranges is not None and not ranges:
        return 0
    args: list[str | int] = [topic_id, _token(consumer), now_ms, delay_ms, int(unseen), *flat(ranges or ())]
    reply = await store.call(_NACK, (keys.state, *keys.sub(name).all()), args)
    return int(_checked(reply, name)[1])


async def seek(store: Store, keys: PartitionKeys, topic_id: str, name: str, where: Where) -> int:
    """The offset at which it begins again.  Raises OffsetOutOfRange beyond the end of the log."""
    reply = await store.call(_SEEK, (keys.state, *keys.sub(name).all()), (topic_id, where))
    return int(_checked(reply, name)[1])


async def stats(
    store: Store, keys: PartitionKeys, topic_id: str, name: str, *, entries_max: int = BACKLOG_ENTRIES
) -> Standing:
    places = (keys.state, keys.log, keys.aborted, *keys.sub(name).all())
    reply = _checked(await store.call(_STATS, places, (topic_id, entries_max)), name)
    kind: Kind = reply[1].decode()
    mark, read, stable, acked, leased, held, backlog, exact, delivered, redelivered = reply[2:12]
    return Standing(
        kind, int(mark), int(read), stable, acked, leased, held, backlog, exact == 1, delivered, redelivered,
        unquote(_text(reply[12])), reply[13], int(reply[14]), reply[15],
    )  # fmt: skip


async def _hold(store: Store, keys: PartitionKeys, name: str, args: Sequence[str | int]) -> int:
    reply = await store.call(_HOLD, (keys.state, keys.ended, keys.watermarks, *keys.sub(name).all()), args)
    return int(_checked(reply, name)[1])


def _checked(reply: list[Any], name: str) -> list[Any]:
    if reply[0] == Status.OK:
        return reply
    raise _refusal(reply, name)


def _refusal(reply: list[Any], name: str) -> LedgerError:
    """What a script's refusal means, with its facts."""
    status = Status(reply[0])
    if status == Status.UNKNOWN_TOPIC:
        return UnknownTopic()
    if status == Status.UNKNOWN_SUB:
        return UnknownSubscription(
            f"There is no subscription {name!r}; create it with POST /v1/topics/{{topic}}/subscriptions.",
            subscription=name,
        )
    if status == Status.CONSUMER_BUSY:
        owner, left_ms = unquote(_text(reply[1])), reply[2]
        return ConsumerBusy(
            f"Consumer {owner!r} holds the exclusive subscription {name!r} for at least {left_ms} ms more; stop it, "
            "wait, or use a shared subscription.",
            consumer=owner,
            retry_after_ms=left_ms,
        )
    if status == Status.NOT_LEASED:
        owner = unquote(_text(reply[2]))
        return NotYourMessage(
            f"The message at offset {reply[1]} is leased to consumer {owner!r}; drop it, that consumer handles it.",
            offset=reply[1],
            consumer=owner,
        )
    if status == Status.NOT_DELIVERED:
        return NotDelivered(
            f"Offset {reply[1]} has not been delivered on {name!r}; acknowledge only what receive returned.",
            offset=reply[1],
        )
    if status == Status.TXN_CONFLICT:
        holder = _text(reply[2])
        by = f"held by transaction {holder}" if holder else "acknowledged already"
        return TransactionConflict(
            f"The message at offset {reply[1]} is {by}; abort this transaction and receive again.",
            offset=reply[1],
            transaction=holder,
        )
    if status == Status.TXN_ENDED:
        return TransactionEnded()
    if status == Status.WRONG_KIND and reply[1] == b"kafka":
        return WrongSubscriptionKind(f"{name!r} is a Kafka consumer group; only its members take and commit messages.")
    if status == Status.WRONG_KIND:
        return WrongSubscriptionKind(
            f"Subscription {name!r} is {_text(reply[1])}; cumulative acknowledgement needs an exclusive one."
        )
    assert status == Status.BAD_OFFSET, f"a cursor script answered {reply!r}"
    start, end = int(reply[1]), int(reply[2])
    return OffsetOutOfRange(
        f"The log goes from offset {start} to {end}; choose an offset in it.", start_offset=start, end_offset=end
    )


def _token(consumer: str) -> str:
    """A consumer's name without spaces; never empty, for a lease of the empty name is nobody's."""
    assert consumer, "a consumer has a name"
    return encode_name(consumer)


def _text(value: bytes) -> str:
    return value.decode()
