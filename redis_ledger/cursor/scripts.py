"""Calls the scripts of lua/cursor/: one function per script, with the order of its KEYS and ARGV.

`now_ms` comes from the caller.  A consumer's name is any text; it is percent-encoded in Redis.  All calls are
idempotent: the store repeats a call whose reply was lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from redis_ledger.cursor import paged_acks
from redis_ledger.cursor.ranges import Range, flat, size
from redis_ledger.cursor.script_errors import checked, text, token
from redis_ledger.errors import IllegalGeneration, OutcomeUnknown
from redis_ledger.ids import TxnId
from redis_ledger.ledger.entries import LogEntry
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Script, Store

# kafka: a consumer group's offset (cursor/group_offsets.py)
Kind = Literal["exclusive", "failover", "shared", "key_shared", "kafka"]
Limit = Literal["max_unacked_per_consumer", "max_unacked_per_subscription", "key_shared_waiting_max"]
Where = int | Literal["earliest", "latest"]

_LIMITS: dict[int, Limit] = {
    2: "max_unacked_per_consumer", 3: "max_unacked_per_subscription", 4: "key_shared_waiting_max",
}  # fmt: skip
BACKLOG_ENTRIES = 500  # log entries that stats reads

_RECEIVE = Script.load("cursor/receive")
_ACK = Script.load("cursor/ack")
_ACK_CUMULATIVE = Script.load("cursor/ack_cumulative")
_PENDING_ACK = Script.load("cursor/pending_ack")
_PENDING_ACK_MANY = Script.load("cursor/pending_ack_many")
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
        """Returns the batch's log entry, as far as the reply has it."""
        return LogEntry(
            self.ledger, self.entry, self.base, self.records, self.batch_bytes, int(self.producer), -1, -1, self.flags,
            self.appended_ms, -1,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """Returns these records' share of the batch's bytes."""
        return self.batch_bytes * (self.last - self.first + 1) // max(self.records, 1)


class Received(NamedTuple):
    """more: another call returns more now.  reason: the limit that allows no more.  next_due_ms: the next end of a
    lease or due time; -1 none.  needs_window: of a key_shared subscription, see cursor/key_shared.py."""

    deliveries: list[Delivery]
    mark: int
    read: int
    stable: int
    more: bool
    next_due_ms: int
    reason: Limit | None = None
    needs_window: bool = False


class CursorState(NamedTuple):
    """The positions and the backlog of a subscription on one partition.

    mark     everything below is acknowledged          acked    offsets acknowledged beyond it
    read     everything below was dispatched           stable   limit of dispatch
    leased   delivered to a consumer, neither acknowledged nor returned
    waiting  read, and no consumer has it: returned, or (key_shared) it waits for the consumer of its key
    backlog  leased, waiting, held in transactions, or not yet dispatched.  Exact while at most BACKLOG_ENTRIES log
             entries lie between read and stable; beyond those it counts offsets, with markers and aborted records.

    For a Kafka group: mark and read are its offset (-1: none), held the number of transactions with a pending offset,
    and backlog the records from its offset to stable; 0 without one.
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
    waiting: int


class NotOwner(Exception):
    """The subscription is exclusive, and the epoch is missing or an earlier owner's: see registration.claim.  Or it was
    deleted and created again with another kind."""


class ReceiveRequest(NamedTuple):
    """The part of a receive that is the same on every partition.

    epoch      of an exclusive subscription: from registration.claim; else None
    name       of the client's request, "" without one; attempt: how often it was sent before (docs/decisions/0052)
    takes_over   leases of earlier attempts, whose response was lost, are delivered again
    is_reserved   the leases do not count as deliveries until they are extended or acknowledged (docs/decisions/0054)
    backoff    what the subscription's redelivery rule adds to the ack timeout; "" without a rule
    """

    consumer: str
    bytes_max: int
    ack_timeout_ms: int
    session_ms: int
    epoch: int | None = None
    name: str = ""
    attempt: int = 0
    takes_over: bool = False
    is_reserved: bool = False
    backoff: str = ""

    @property
    def token(self) -> str:
        """Names the attempt, as lua/include/lost_response reads it."""
        return ("~" if self.is_reserved else "") + (self.name and f"{self.name}.{self.attempt}")

    @property
    def wait(self) -> str:
        """The time until a lease may be delivered again, as lua/include/backoff reads it."""
        return f"{self.ack_timeout_ms} {self.backoff}".rstrip()


async def receive(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    request: ReceiveRequest,
    *,
    now_ms: int,
    records_max: int,
    after: int | None = None,
    unseen: bool = False,
    unacked_max: tuple[int, int] = (0, 0),
) -> Received:
    """Leases due records first, then new ones.  request.bytes_max is soft: a batch that exceeds it is delivered.

    after    of an exclusive subscription: the last offset that the consumer has received.  None: it gets everything
             that it has not acknowledged.
    unseen   leases beyond `after` never reached the consumer: their delivery count stays.

    unacked_max   unacknowledged messages that the consumer and the subscription may have here; 0: any number

    Raises NotOwner on an exclusive or failover subscription.
    """
    places = (keys.state, keys.log, keys.aborted, *keys.sub(name).all())
    args = (
        topic_id, token(request.consumer), now_ms, records_max, request.bytes_max,
        request.wait, request.session_ms,
        "" if request.epoch is None else request.epoch, "" if after is None else after, int(unseen), request.token,
    )  # fmt: skip
    try:
        reply = await store.call(_RECEIVE, places, (*args, int(request.takes_over), *unacked_max), retry=False)
    except OutcomeUnknown:
        # Deliver the leases of the lost reply now; otherwise they would come late and out of order.
        reply = await store.call(_RECEIVE, places, (*args, 1, *unacked_max))
    return received(reply, name)


def received(reply: list[Any], name: str) -> Received:
    """Decodes a reply of cursor/receive.  Raises NotOwner."""
    check_received(reply, name)
    deliveries = [
        Delivery(
            reply[i], reply[i + 1], reply[i + 2], int(reply[i + 3]), int(reply[i + 4]), int(reply[i + 5]),
            int(reply[i + 6]), int(reply[i + 7]), reply[i + 8], int(reply[i + 9]), int(reply[i + 10]),
        )
        for i in range(6, len(reply), 11)
    ]  # fmt: skip
    return answer_of(reply, deliveries)


def check_received(reply: list[Any], name: str) -> None:
    """Raises NotOwner, and what the status of the reply says."""
    if reply[0] == Status.NOT_OWNER or (reply[0] == Status.WRONG_KIND and reply[1] != b"kafka"):
        raise NotOwner
    checked(reply, name)


def answer_of(reply: list[Any], deliveries: list[Delivery]) -> Received:
    """The rest of a reply of cursor/receive or cursor/receive_key_shared."""
    more = reply[4]
    return Received(deliveries, reply[1], reply[2], reply[3], more in (1, 5), reply[5], _LIMITS.get(more), more == 5)


async def ack(
    store: Store, keys: PartitionKeys, topic_id: str, name: str, consumer: str, ranges: Sequence[Range]
) -> int:
    """Returns how many of these offsets are acknowledged now; those that a transaction holds are not counted.

    All or nothing, as pages.py says.  Raises NotYourMessage, NotDelivered.
    """
    places = (keys.state, *keys.sub(name).all())

    async def act(some: Sequence[Range], how: paged_acks.How) -> list[Any]:
        args: list[str | int] = [topic_id, token(consumer), how, paged_acks.LEASES_MAX, *flat(some)]
        return checked(await store.call(_ACK, places, args), name)

    return await paged_acks.ack_in_pages(act, ranges)


async def ack_cumulative(
    store: Store, keys: PartitionKeys, topic_id: str, name: str, consumer: str, offset: int
) -> int:
    """Acknowledges all offsets up to `offset`, except what transactions hold.  Returns the number of new ones.

    Raises WrongSubscriptionKind on a shared subscription; NotDelivered, NotYourMessage when one of the offsets was not
    delivered to this consumer.
    """
    places = (keys.state, *keys.sub(name).all())

    async def act(first: int, how: paged_acks.How) -> list[Any]:
        args = (topic_id, token(consumer), offset, how, paged_acks.LEASES_MAX, first)
        return checked(await store.call(_ACK_CUMULATIVE, places, args), name)

    return await paged_acks.ack_cumulative_in_pages(act, is_sum=True)


async def pending_ack(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    consumer: str,
    txn: TxnId,
    ranges: Sequence[Range],
    now_ms: int,
) -> int:
    """Returns how many of these offsets (all) the transaction holds.  The subscription must be registered with it.

    All or nothing, as pages.py says.  Raises TransactionConflict, TransactionEnded, NotYourMessage, NotDelivered.
    """

    async def act(some: Sequence[Range], how: paged_acks.How) -> list[Any]:
        args: list[str | int] = [topic_id, token(consumer), txn.coordinator, txn.serial, 0, how, paged_acks.LEASES_MAX]
        args += (now_ms, *flat(some))
        return await _pending_ack(store, keys, name, args)

    return await paged_acks.ack_in_pages(act, ranges)


async def pending_ack_many(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    holds: Sequence[tuple[str, TxnId, Sequence[Range]]],
    now_ms: int,
) -> bool:
    """Applies the acks of several transactions (consumer, transaction, ranges) at once.  False: one of them is not
    simple, and nothing was changed; call pending_ack for each.  A retry finds its own acks and returns False, too."""
    if sum(len(ranges) for _, _, ranges in holds) > paged_acks.RANGES_MAX:
        return False
    args: list[str | int] = [topic_id, now_ms, len(holds)]
    spread: list[tuple[int, int, int]] = []
    for number, (consumer, txn, ranges) in enumerate(holds, 1):
        args += (token(consumer), txn.coordinator, txn.serial, size(ranges))
        spread += [(first, last, number) for first, last in ranges]
    spread.sort()
    if any(here[1] >= following[0] for here, following in pairwise(spread)):
        return False
    args += [each for triple in spread for each in triple]
    reply = await store.call(_PENDING_ACK_MANY, (keys.state, keys.ended, keys.watermarks, *keys.sub(name).all()), args)
    return bool(reply[0] == Status.OK)


async def pending_ack_cumulative(
    store: Store, keys: PartitionKeys, topic_id: str, name: str, consumer: str, txn: TxnId, offset: int, now_ms: int
) -> int:
    """Returns how many offsets the transaction holds on this partition now.  A retry changes nothing; another call must
    have a higher offset (AK-13); a lower one is a conflict.

    Raises as pending_ack, and WrongSubscriptionKind.
    """

    async def act(first: int, how: paged_acks.How) -> list[Any]:
        args = (
            topic_id, token(consumer), txn.coordinator, txn.serial, 1, how, paged_acks.LEASES_MAX, now_ms,
            offset, first,
        )  # fmt: skip
        return await _pending_ack(store, keys, name, args)

    return await paged_acks.ack_cumulative_in_pages(act, is_sum=False)


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
    backoff: str = "",
    unseen: bool = False,
    request: str = "",
) -> int:
    """Returns the number of records returned: those in these ranges (None: all) that this consumer has leased.

    backoff: of the subscription's redelivery rule; it adds to delay_ms.
    unseen: they never reached the consumer, so the delivery does not count.
    request: the token of a receive: only what it has leased, and no other attempt has taken over
    """
    if ranges is not None and not ranges:
        return 0
    returned, first, rest = 0, 0, list(ranges or ())
    while True:
        some = rest[: paged_acks.RANGES_MAX]
        wait = f"{delay_ms} {backoff}".rstrip()
        args: list[str | int] = [topic_id, token(consumer), now_ms, wait, int(unseen), request]
        args += [paged_acks.LEASES_MAX, first]
        args += flat(some)
        reply = checked(await store.call(_NACK, (keys.state, *keys.sub(name).all()), args), name)
        _, count, *reached = reply
        returned += count
        rest = (paged_acks.behind(some, reached[0]) if reached else []) + rest[paged_acks.RANGES_MAX :]
        if not rest and (ranges is not None or not reached):
            return int(returned)
        first = reached[0] + 1 if reached else 0


async def seek(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    where: Where,
    *,
    fence: int | None = None,
    now_ms: int = 0,
) -> int:
    """Returns the new offset.  Raises OffsetOutOfRange beyond the end of the log.

    fence: of a Kafka group, as it was when the group had no members; IllegalGeneration if a member has read its offset
    since.  None: a Kafka group is refused.
    """
    args = (topic_id, where, "" if fence is None else fence, now_ms)
    reply = await store.call(_SEEK, (keys.state, *keys.sub(name).all(), keys.none), args)
    if reply[0] == Status.FENCED:
        raise IllegalGeneration(f"Generation {reply[1]} of group {name!r} reads here.", generation=reply[1])
    return int(checked(reply, name)[1])


async def stats(
    store: Store, keys: PartitionKeys, topic_id: str, name: str, *, entries_max: int = BACKLOG_ENTRIES
) -> CursorState:
    places = (keys.state, keys.log, keys.aborted, *keys.sub(name).all())
    reply = checked(await store.call(_STATS, places, (topic_id, entries_max)), name)
    kind: Kind = reply[1].decode()
    mark, read, stable, acked, leased, held, backlog, exact, delivered, redelivered = reply[2:12]
    return CursorState(
        kind, int(mark), int(read), stable, acked, leased, held, backlog, exact == 1, delivered, redelivered,
        unquote(text(reply[12])), reply[13], int(reply[14]), reply[15], reply[16],
    )  # fmt: skip


async def _pending_ack(store: Store, keys: PartitionKeys, name: str, args: Sequence[str | int]) -> list[Any]:
    places = (keys.state, keys.ended, keys.watermarks, *keys.sub(name).all())
    return checked(await store.call(_PENDING_ACK, places, args), name)
