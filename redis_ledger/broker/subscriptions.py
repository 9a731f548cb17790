"""Subscriptions: consumers that share or own a topic's messages, and what they acknowledge.

A subscription covers every partition of its topic; each partition has its own cursor (cursors.py).  Dispatch looks at
log entries only; the payload of what was leased is read after.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeVar
from urllib.parse import unquote

import structlog

from redis_ledger.broker.cursors import Cursors
from redis_ledger.broker.deadletters import DeadLetters
from redis_ledger.broker.registry import Registry
from redis_ledger.broker.types import CursorStats, Message, SubscriptionKind, SubscriptionStats
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.cursor import calls
from redis_ledger.cursor.holds import Holds
from redis_ledger.cursor.ranges import Range, to_ranges
from redis_ledger.errors import (
    InvalidRequest,
    LedgerError,
    TransactionConflict,
    UnknownSubscription,
)
from redis_ledger.ids import MessageId, TxnId, check_subscription_name
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.reader import Piece
from redis_ledger.ledger.waiters import Waiters
from redis_ledger.store.keys import encode_name
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Participant

BYTES_MAX = 8 << 20  # soft bound on the payload of one receive
HOLDS_KEPT = 10_000
T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Subscriptions:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        waiters: Waiters,
        registry: Registry,
        abort: Callable[[TxnId], Awaitable[object]],
        dead_letters: DeadLetters,
        config: Config,
        clock: Clock,
    ) -> None:
        self.cursors = Cursors(store, catalog, clock)
        self._store, self._waiters, self._registry, self._abort = store, waiters, registry, abort
        self._dead_letters, self._config, self._clock = dead_letters, config, clock
        self._turn = itertools.count()
        self._holds: dict[tuple[str, int, str], Holds] = {}
        self._loop = asyncio.get_running_loop()

    # -- life cycle --------------------------------------------------------------------------------------------------

    async def create(
        self,
        topic: str,
        name: str,
        kind: Literal["exclusive", "shared"] = "shared",
        start: Literal["earliest", "latest"] = "earliest",
    ) -> tuple[SubscriptionStats, bool]:
        """The subscription, and whether this call made it.  Raises SubscriptionExists (another kind), UnknownTopic."""
        check_subscription_name(name)
        partitions = await self.cursors.partitions(topic, fresh=True)
        now = self._clock.now_ms()

        async def make(partition: Partition) -> bool:
            return await calls.create(self._store, partition.keys, partition.topic_id, name, kind, start, now)

        first = partitions[0].keys
        if await self._store.command("HEXISTS", first.subs, encode_name(name), key=first.state):
            await make(partitions[0])  # with another kind it is refused, before anything is made
        else:
            # A delete that was cut short, or a receive beside it, may have left cursors of an earlier subscription.
            await asyncio.gather(*(calls.delete(self._store, p.keys, p.topic_id, name) for p in partitions[1:]))
        # The register goes last: whoever finds the subscription there finds every cursor.
        await asyncio.gather(*(make(p) for p in partitions[1:]))
        made = await make(partitions[0])
        return await self.stats(topic, name), made

    async def delete(self, topic: str, name: str) -> None:
        partitions = await self.cursors.partitions(topic, fresh=True)
        await self._dead_letters.remove(topic, name)
        there = await calls.delete(self._store, partitions[0].keys, partitions[0].topic_id, name)
        await asyncio.gather(*(calls.delete(self._store, p.keys, p.topic_id, name) for p in partitions[1:]))
        if not there:
            raise UnknownSubscription(f"Topic {topic!r} has no subscription {name!r}.", subscription=name)

    async def stats(self, topic: str, name: str) -> SubscriptionStats:
        partitions = await self.cursors.partitions(topic)
        standings = await asyncio.gather(
            *(
                self.cursors.act(p, name, lambda p: calls.stats(self._store, p.keys, p.topic_id, name))
                for p in partitions
            )
        )
        cursors = [
            CursorStats(p.number, s.mark, s.read, s.stable, s.acked, s.leased, s.held, s.backlog, s.redelivered)
            for p, s in zip(partitions, standings, strict=True)
        ]
        return SubscriptionStats(topic, partitions[0].topic_id, name, standings[0].kind, cursors)

    async def seek(
        self,
        topic: str,
        name: str,
        *,
        to: Literal["earliest", "latest"] | None = None,
        offsets: dict[int, int] | None = None,
        timestamp_ms: int | None = None,
    ) -> SubscriptionStats:
        """Exactly one of: to, for all partitions; offsets, for those named; timestamp_ms, for all: the first record
        appended at or after it."""
        if sum(choice is not None for choice in (to, offsets, timestamp_ms)) != 1:
            raise InvalidRequest("Say exactly one of to, offsets and timestamp_ms.")
        if offsets is None:
            partitions = await self.cursors.partitions(topic)
        else:
            partitions = await self.cursors.chosen(topic, offsets)
        places: dict[int, calls.Where] = dict(offsets or {})
        for partition in partitions:
            if to is not None:
                places[partition.number] = to
            elif timestamp_ms is not None:
                places[partition.number] = await partition.offset_at(timestamp_ms)

        async def move(partition: Partition) -> None:
            where = places[partition.number]
            await calls.seek(self._store, partition.keys, partition.topic_id, name, where)

        await asyncio.gather(*(self.cursors.act(partition, name, move) for partition in partitions))
        return await self.stats(topic, name)

    # -- receive -----------------------------------------------------------------------------------------------------

    async def receive(
        self,
        topic: str,
        name: str,
        consumer: str = "default",
        *,
        max_records: int = 100,
        wait_ms: int = 0,
        ack_timeout_ms: int | None = None,
        partitions: Sequence[int] | None = None,
    ) -> list[Message]:
        """Leases up to max_records messages to the consumer for ack_timeout_ms; none if there are none after wait_ms.
        Raises ConsumerBusy on an exclusive subscription somebody else holds."""
        if not 1 <= max_records <= self._config.records_per_request_max:
            raise InvalidRequest(f"max_records is 1 to {self._config.records_per_request_max}, not {max_records}.")
        timeout_ms = self._config.ack_timeout_ms if ack_timeout_ms is None else ack_timeout_ms
        if partitions is None:
            chosen = await self.cursors.partitions(topic)
        else:
            chosen = await self.cursors.chosen(topic, partitions)
        turn = next(self._turn) % len(chosen)
        chosen = chosen[turn:] + chosen[:turn]
        deadline = self._loop.time() + wait_ms / 1000
        messages, due_ms = await self._once(chosen, name, consumer, max_records, timeout_ms)
        if messages or wait_ms <= 0:
            return messages
        async with self._waiters.listen([p.keys for p in chosen], committed=True) as listener:
            while True:
                messages, due_ms = await self._once(chosen, name, consumer, max_records, timeout_ms)
                left = deadline - self._loop.time()
                if messages or left <= 0:
                    return messages
                until_due = left if due_ms < 0 else max((due_ms - self._clock.now_ms()) / 1000, 0.001)
                await listener.wait(min(left, until_due))
                if listener.is_closed:
                    return messages

    async def _once(
        self, partitions: Sequence[Partition], name: str, consumer: str, max_records: int, timeout_ms: int
    ) -> tuple[list[Message], int]:
        """As _share_out.  Who is cancelled in its midst tells nobody of messages: they are handed back."""
        leasing = asyncio.ensure_future(self._share_out(partitions, name, consumer, max_records, timeout_ms))
        try:
            return await asyncio.shield(leasing)
        except asyncio.CancelledError:
            messages, _ = await leasing
            await self.nack(partitions[0].topic, name, consumer, [each.id for each in messages], unseen=True)
            raise

    async def _share_out(
        self, partitions: Sequence[Partition], name: str, consumer: str, max_records: int, timeout_ms: int
    ) -> tuple[list[Message], int]:
        """Messages of all partitions, each asked for its share first and then for what is left; and when the next lease
        runs out (ms, -1 never)."""
        messages: list[Message] = []
        due_ms = -1
        share = -(-max_records // len(partitions))
        asked = list(partitions)
        while asked and len(messages) < max_records:
            quota = min(share, max_records - len(messages))
            width = max(1, (max_records - len(messages)) // quota)
            now_asked, asked = asked[:width], asked[width:]
            received = await asyncio.gather(*(self._lease(p, name, consumer, quota, timeout_ms) for p in now_asked))
            for partition, (some, answer) in zip(now_asked, received, strict=True):
                messages += some
                if answer.more:
                    asked.append(partition)
                if answer.next_due_ms >= 0 and (due_ms < 0 or answer.next_due_ms < due_ms):
                    due_ms = answer.next_due_ms
            share = max_records
        return messages, due_ms

    async def _lease(
        self, partition: Partition, name: str, consumer: str, max_records: int, timeout_ms: int
    ) -> tuple[list[Message], calls.Received]:
        received = await self.cursors.act(
            partition,
            name,
            lambda p: calls.receive(
                self._store, p.keys, p.topic_id, name, consumer, now_ms=self._clock.now_ms(), records_max=max_records,
                bytes_max=BYTES_MAX, ack_timeout_ms=timeout_ms, session_ms=self._config.consumer_session_ms,
            ),
        )  # fmt: skip
        if not received.deliveries:
            return [], received
        rule = self._dead_letters.rule(partition.topic, partition.topic_id, name)
        pieces = [Piece(d.entry_of_log, d.first, d.last) for d in received.deliveries]
        messages, unreadable = list[Message](), list[Range]()
        try:
            read = await partition.records(pieces)
        except LedgerError:  # nobody was given them: the next who asks need not wait until they are due
            with contextlib.suppress(LedgerError):
                ids = [MessageId(partition.number, n) for d in received.deliveries for n in range(d.first, d.last + 1)]
                await self.nack(partition.topic, name, consumer, ids, unseen=True)
            raise
        for d, found in zip(received.deliveries, read, strict=True):
            if isinstance(found, LedgerError):
                _log.error("a batch that cannot be read was passed over", topic=partition.topic,
                           partition=partition.number, offset=d.base, subscription=name, error=str(found))  # fmt: skip
                unreadable.append(Range(d.first, d.last))
                partition.traffic.unreadable += d.last - d.first + 1
                continue
            shift, records = found
            if rule is None or d.deliveries < rule.max_deliveries:
                partition.traffic.delivered(len(records), d.size, d.deliveries)
            for r in records:
                at = MessageId(partition.number, r.offset + shift)
                messages.append(Message(at, d.deliveries, r.timestamp_ms, r.key, r.value, r.headers))
            if len(records) <= d.last - d.first:  # the others were compacted away
                there = {r.offset + shift for r in records}
                unreadable += to_ranges([offset for offset in range(d.first, d.last + 1) if offset not in there])
        if unreadable:  # Kafka producers' batches are stored unread; one that is broken must not stop what is behind it
            await self.ack_one(partition, name, consumer, unreadable, None)
        if rule is not None:
            messages = await self._dead_letters.sift(rule, partition.topic, name, consumer, messages)
        return messages, received

    # -- acknowledge -------------------------------------------------------------------------------------------------

    async def ack(
        self, topic: str, name: str, consumer: str, ids: Sequence[MessageId], *, transaction: TxnId | None = None
    ) -> int:
        """How many are acknowledged (or held by the transaction until it ends).

        All or nothing for each partition.  Raises NotYourMessage, NotDelivered, TransactionEnded, and
        TransactionConflict, which aborts the transaction.
        """
        found = await self.cursors.by_partition(topic, ids)
        if transaction is None:
            return sum(await asyncio.gather(*(self.ack_one(p, name, consumer, r, None) for p, r in found)))
        await self._registry.register(transaction, [Participant(topic, p.topic_id, p.number, name) for p, _ in found])
        holds = asyncio.gather(*(self.ack_one(p, name, consumer, r, transaction) for p, r in found))
        return sum(await self._held(holds, transaction))

    async def ack_one(
        self, partition: Partition, name: str, consumer: str, ranges: list[Range], transaction: TxnId | None
    ) -> int:
        """One partition's part of an ack; in a transaction the participant must be registered."""
        now = self._clock.now_ms()
        if transaction is None:
            return await self.cursors.act(
                partition,
                name,
                lambda p: calls.ack(self._store, p.keys, p.topic_id, name, consumer, ranges, now_ms=now),
            )
        return await self.cursors.act(
            partition, name, lambda p: self._holds_of(p, name).add(consumer, transaction, ranges)
        )

    async def ack_cumulative(
        self, topic: str, name: str, consumer: str, message: MessageId, *, transaction: TxnId | None = None
    ) -> int:
        """All of the message's partition up to it.  Raises WrongSubscriptionKind on a shared subscription."""
        (partition,) = await self.cursors.chosen(topic, (message.partition,))
        now, offset = self._clock.now_ms(), message.offset
        if transaction is None:
            return await self.cursors.act(
                partition,
                name,
                lambda p: calls.ack_cumulative(self._store, p.keys, p.topic_id, name, consumer, offset, now_ms=now),
            )
        await self._registry.register(transaction, [Participant(topic, partition.topic_id, partition.number, name)])
        hold = self.cursors.act(
            partition,
            name,
            lambda p: calls.hold_cumulative(
                self._store, p.keys, p.topic_id, name, consumer, transaction, offset, now_ms=now
            ),
        )
        return await self._held(hold, transaction)

    async def nack(
        self,
        topic: str,
        name: str,
        consumer: str,
        ids: Sequence[MessageId] | None,
        *,
        delay_ms: int = 0,
        unseen: bool = False,
    ) -> int:
        """How many will be delivered again, after delay_ms; ids None: all this consumer has.  unseen: it was not given
        them, so that this does not count as a delivery."""
        if ids is None:
            found: dict[Partition, list[Range] | None] = dict.fromkeys(await self.cursors.partitions(topic))
        else:
            found = dict(await self.cursors.by_partition(topic, ids))
        now = self._clock.now_ms()

        async def hand_back(p: Partition) -> int:
            ranges = found[p]
            count = await calls.nack(
                self._store, p.keys, p.topic_id, name, consumer, ranges, now_ms=now, delay_ms=delay_ms, unseen=unseen
            )
            if count:
                await self._waiters.poke(p.keys)
            return count

        return sum(await asyncio.gather(*(self.cursors.act(partition, name, hand_back) for partition in found)))

    # -- steps -------------------------------------------------------------------------------------------------------

    def _holds_of(self, partition: Partition, name: str) -> Holds:
        key = (partition.topic_id, partition.number, name)
        holds = self._holds.get(key)
        if holds is None:
            if len(self._holds) >= HOLDS_KEPT:
                self._holds = {key: holds for key, holds in self._holds.items() if not holds.is_idle}
            holds = self._holds[key] = Holds(self._store, partition.keys, partition.topic_id, name, self._clock)
        return holds

    async def _held(self, holds: Awaitable[T], txn: TxnId) -> T:
        """After a conflict with somebody else a transaction has nothing left but its abort (CL-16): it gets it at once.
        One with its own cumulative acknowledgement is a mere mistake (AK-13)."""
        try:
            return await holds
        except TransactionConflict as error:
            if error.facts.get("transaction") != str(txn):
                try:
                    await self._abort(txn)
                except LedgerError as second:
                    error.add_note(f"aborting transaction {txn} failed as well: {second}")
            raise

    async def list(self, topic: str) -> builtins.list[tuple[str, SubscriptionKind]]:
        first = (await self.cursors.partitions(topic))[0]
        rows = await self._store.command("HGETALL", first.keys.subs, key=first.keys.state)
        named = [(unquote(n.decode()), k) for n, k in zip(rows[::2], rows[1::2], strict=True) if n]
        return sorted((name, kind.decode()) for name, kind in named)
