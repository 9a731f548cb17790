"""Subscriptions of all kinds: consumption of a topic's messages, and their acknowledgement.

A subscription covers every partition of its topic; each partition has its own cursor (cursors.py).  Delivery is in
receive.py and leasing.py, waiting in long_polls.py, sessions of consumers in consumer_sessions.py.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar
from urllib.parse import unquote

from redis_ledger.broker.subscriptions.consumer_sessions import ConsumerSessions
from redis_ledger.broker.subscriptions.cursors import Cursors, gather_all
from redis_ledger.broker.subscriptions.dead_letter_moves import DeadLetterMover, Execution
from redis_ledger.broker.subscriptions.dead_letter_rules import DeadLetterRules
from redis_ledger.broker.subscriptions.leasing import Leasing
from redis_ledger.broker.subscriptions.long_polls import LongPolls
from redis_ledger.broker.subscriptions.receive import Receiver
from redis_ledger.broker.subscriptions.redelivery_rules import RedeliveryRules
from redis_ledger.broker.transactions.participant_registry import ParticipantRegistry
from redis_ledger.broker.types import CursorStats, SubscriptionKind, SubscriptionStats
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.cursor import extension, key_shares, registration, scripts
from redis_ledger.cursor.key_shares import KeyShare
from redis_ledger.cursor.pending_acks import PendingAcks
from redis_ledger.cursor.ranges import Range
from redis_ledger.cursor.registration import KINDS
from redis_ledger.decoding.budget import Decoding
from redis_ledger.errors import (
    InvalidRequest,
    LedgerError,
    TransactionConflict,
    UnknownSubscription,
)
from redis_ledger.ids import MessageId, TxnId, check_subscription_name
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.topic_checks import refuse_internal
from redis_ledger.ledger.waiters import Waiters
from redis_ledger.store.keys import encode_name
from redis_ledger.store.store import Store
from redis_ledger.txn.batched_write import PENDING_ACKS, BatchedWrite, settings_of
from redis_ledger.txn.coordinator import Participant

HOLDS_KEPT = 10_000
HOLDS_BYTES_MAX = 32_768  # of transactional acknowledgements in one call
T = TypeVar("T")


class Subscriptions:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        waiters: Waiters,
        registry: ParticipantRegistry,
        abort: Callable[[TxnId], Awaitable[object]],
        rules: DeadLetterRules,
        redelivery: RedeliveryRules,
        execute: Execution,
        decoding: Decoding,
        config: Config,
        clock: Clock,
    ) -> None:
        """execute: acknowledges and appends in one transaction, to move dead letters."""
        self.cursors = Cursors(store, catalog, clock)
        self._store, self._waiters, self._registry, self._abort = store, waiters, registry, abort
        self._rules, self._redelivery, self._config, self._clock = rules, redelivery, config, clock
        self.mover = DeadLetterMover(execute, self.stats)
        self._sessions = ConsumerSessions(store, clock, config.consumer_session_ms, waiters)
        self._holds: dict[tuple[str, int, str], PendingAcks] = {}
        self._ack_thresholds = settings_of(config)[PENDING_ACKS].thresholds(HOLDS_BYTES_MAX)
        leasing = Leasing(store, self.cursors, self._sessions, waiters, rules, self.mover, config, clock)
        polls = LongPolls(waiters, clock)
        self.receive = Receiver(self.cursors, self._sessions, leasing, polls, redelivery, decoding, config).receive

    # -- life cycle --------------------------------------------------------------------------------------------------

    def forget_owners(self) -> None:
        """Redis may have lost owners of exclusive subscriptions: they claim them again."""
        self._sessions.forget_all()

    async def create(
        self,
        topic: str,
        name: str,
        kind: Literal["exclusive", "failover", "shared", "key_shared"] = "shared",
        start: Literal["earliest", "latest"] = "earliest",
    ) -> tuple[SubscriptionStats, bool]:
        """Returns the subscription, and whether this call created it.  Raises SubscriptionExists, UnknownTopic,
        InvalidTopicName."""
        check_subscription_name(name)
        refuse_internal(topic, "subscribed to")
        made = await self.cursors.create(topic, name, kind, start)
        if made:  # polls of an earlier subscription of this name read the new one
            await self._poke(await self.cursors.partitions(topic))
        return await self.stats(topic, name), made

    async def delete(self, topic: str, name: str) -> None:
        await self._rules.remove(topic, name)
        await self._redelivery.remove(topic, name)
        if not await self.cursors.delete(topic, name):
            raise UnknownSubscription(f"Topic {topic!r} has no subscription {name!r}.", subscription=name)
        await self._poke(await self.cursors.partitions(topic))

    async def stats(self, topic: str, name: str) -> SubscriptionStats:
        partitions = await self.cursors.partitions(topic)
        stats = await self.cursors.act_on_all(
            partitions, name, lambda p: scripts.stats(self._store, p.keys, p.topic_id, name)
        )
        cursors = [
            CursorStats(
                p.number, s.mark, s.read, s.stable, s.acked, s.leased, s.held, s.backlog, s.redelivered, s.waiting,
                s.is_exact,
            )
            for p, s in zip(partitions, stats, strict=True)
        ]  # fmt: skip
        return SubscriptionStats(topic, partitions[0].topic_id, name, stats[0].kind, cursors)

    async def key_shares(self, topic: str, name: str) -> builtins.list[KeyShare]:
        """Sums over the partitions, by consumer; none unless the subscription is key_shared.  Raises StoredDamaged."""
        partitions = await self.cursors.partitions(topic)
        found = await self.cursors.act_on_all(
            partitions, name, lambda p: key_shares.read(self._store, p.keys, p.topic_id, name)
        )
        return key_shares.total(each for some in found for each in some)

    async def seek(
        self,
        topic: str,
        name: str,
        *,
        to: Literal["earliest", "latest"] | None = None,
        offsets: dict[int, int] | None = None,
        timestamp_ms: int | None = None,
        fences: Mapping[int, int] | None = None,
    ) -> SubscriptionStats:
        """Resets the position.  Takes exactly one of `to` (all partitions), `offsets` (the given partitions) and
        `timestamp_ms` (all partitions: the first record appended at or after it).

        fences: of a Kafka group, by partition, without which it is refused; see cursor_administration.py.
        """
        if sum(choice is not None for choice in (to, offsets, timestamp_ms)) != 1:
            raise InvalidRequest("Give exactly one of to, offsets and timestamp_ms.")
        if offsets is None:
            partitions = await self.cursors.partitions(topic)
        else:
            partitions = await self.cursors.chosen(topic, offsets)
        places: dict[int, scripts.Where] = dict(offsets or {})
        for partition in partitions:
            if to is not None:
                places[partition.number] = to
            elif timestamp_ms is not None:
                places[partition.number] = await partition.offsets.offset_at(timestamp_ms)

        async def move(partition: Partition) -> None:
            where = places[partition.number]
            fence, now = None if fences is None else fences.get(partition.number, -1), self._clock.now_ms()
            await scripts.seek(self._store, partition.keys, partition.topic_id, name, where, fence=fence, now_ms=now)

        await self.cursors.act_on_all(partitions, name, move)
        await self._poke(partitions)
        return await self.stats(topic, name)

    # -- acknowledge -------------------------------------------------------------------------------------------------

    async def ack(
        self, topic: str, name: str, consumer: str, ids: Sequence[MessageId], *, transaction: TxnId | None = None
    ) -> int:
        """Returns how many are acknowledged (or held by the transaction until it ends).

        All or nothing for each partition: if one partition refuses, the others are still done.  Raises NotYourMessage,
        NotDelivered, TransactionEnded, and TransactionConflict, which aborts the transaction.
        """
        found = await self.cursors.by_partition(topic, ids)
        if transaction is not None:
            participants = [Participant(topic, p.topic_id, p.number, name) for p, _ in found]
            await self._registry.register(transaction, participants)
        work = [self.ack_one(p, name, consumer, ranges, transaction) for p, ranges in found]
        done = sum(await gather_all(work if transaction is None else [self._held(each, transaction) for each in work]))
        await self.extend_session(topic, name, consumer)
        return done

    async def ack_one(
        self, partition: Partition, name: str, consumer: str, ranges: list[Range], transaction: TxnId | None
    ) -> int:
        """Acknowledges on one partition; in a transaction the participant must be registered."""
        if transaction is None:
            done = await self.cursors.act(
                partition, name, lambda p: scripts.ack(self._store, p.keys, p.topic_id, name, consumer, ranges)
            )
            if self._sessions.is_key_shared(partition.topic_id, name):
                await self._waiters.poke(partition.keys)  # another consumer may get their keys now
            return done
        return await self.cursors.act(
            partition, name, lambda p: self._holds_of(p, name).add(consumer, transaction, ranges)
        )

    async def ack_cumulative(
        self, topic: str, name: str, consumer: str, message: MessageId, *, transaction: TxnId | None = None
    ) -> int:
        """Acknowledges the message's partition up to it.  Raises WrongSubscriptionKind on a shared subscription;
        NotDelivered, NotYourMessage if one of the messages was not delivered to this consumer."""
        (partition,) = await self.cursors.chosen(topic, (message.partition,))
        offset = message.offset
        if transaction is None:
            done = await self.cursors.act(
                partition,
                name,
                lambda p: scripts.ack_cumulative(self._store, p.keys, p.topic_id, name, consumer, offset),
            )
        else:
            await self._registry.register(transaction, [Participant(topic, partition.topic_id, partition.number, name)])
            hold = self.cursors.act(
                partition,
                name,
                lambda p: scripts.pending_ack_cumulative(
                    self._store, p.keys, p.topic_id, name, consumer, transaction, offset, now_ms=self._clock.now_ms()
                ),
            )
            done = await self._held(hold, transaction)
        await self.extend_session(topic, name, consumer)
        return done

    async def nack(
        self,
        topic: str,
        name: str,
        consumer: str,
        ids: Sequence[MessageId] | None,
        *,
        delay_ms: int | None = None,
        unseen: bool = False,
    ) -> int:
        """Returns how many will be redelivered after delay_ms; ids None: all that this consumer has leased.

        delay_ms   None: as the subscription's redelivery rule says; at once without one
        unseen     they never reached the consumer, so the delivery does not count, and no rule applies
        """
        if ids is None:
            found: dict[Partition, list[Range] | None] = dict.fromkeys(await self.cursors.partitions(topic))
        else:
            found = dict(await self.cursors.by_partition(topic, ids))
        now, is_by_rule = self._clock.now_ms(), delay_ms is None and not unseen

        async def release(p: Partition) -> int:
            ranges = found[p]
            backoff = self._redelivery.backoff(topic, p.topic_id, name) if is_by_rule else ""
            count = await scripts.nack(
                self._store, p.keys, p.topic_id, name, consumer, ranges,
                now_ms=now, delay_ms=delay_ms or 0, backoff=backoff, unseen=unseen,
            )  # fmt: skip
            if count:
                await self._waiters.poke(p.keys)
            return count

        returned = sum(await self.cursors.act_on_all(found, name, release))
        await self.extend_session(topic, name, consumer)
        return returned

    async def extend(
        self,
        topic: str,
        name: str,
        consumer: str,
        ids: Sequence[MessageId] | None,
        *,
        ack_timeout_ms: int | None = None,
    ) -> tuple[int, builtins.list[MessageId]]:
        """Extends leases to ack_timeout_ms from now; ids None: all that this consumer has, and those that are reserved
        stay so.  Returns how many, and which of the ids the consumer does not have."""
        if ids is None:
            found: dict[Partition, list[Range] | None] = dict.fromkeys(await self.cursors.partitions(topic))
        else:
            found = dict(await self.cursors.by_partition(topic, ids))
        now_ms = self._clock.now_ms()
        timeout_ms = self._config.ack_timeout_ms if ack_timeout_ms is None else ack_timeout_ms

        async def extend(p: Partition) -> builtins.list[Range]:
            wait = f"{timeout_ms} {self._redelivery.backoff(topic, p.topic_id, name)}".rstrip()
            return await extension.extend(
                self._store, p.keys, p.topic_id, name, consumer, found[p],
                now_ms=now_ms, wait=wait, session_ms=self._config.consumer_session_ms,
            )  # fmt: skip

        extended = await self.cursors.act_on_all(found, name, extend)
        await self.extend_session(topic, name, consumer)
        kept = {
            MessageId(p.number, offset)
            for p, ranges in zip(found, extended, strict=True)
            for first, last in ranges
            for offset in range(first, last + 1)
        }
        return len(kept), [each for each in ids or () if each not in kept]

    async def close_consumer(self, topic: str, name: str, consumer: str) -> int:
        """Ends a consumer's session: returns its unacknowledged messages for redelivery, and lets the next consumer of
        an exclusive or failover subscription in at once.  Returns how many messages.  A repeated call does nothing."""
        partitions = await self.cursors.partitions(topic)
        returned = await self.nack(topic, name, consumer, None, delay_ms=0)
        first = partitions[0]
        is_key_shared = self._sessions.is_key_shared(first.topic_id, name)
        self._sessions.end(first, name, consumer)
        await self.cursors.act_on_all(
            partitions, name, lambda p: registration.leave(self._store, p.keys, p.topic_id, name, consumer)
        )
        await self._poke(partitions if is_key_shared else [first])  # the others get its keys, or its turn
        return returned

    async def extend_session(self, topic: str, name: str, consumer: str) -> None:
        """Extends the consumer's session if it owns the subscription.  Raises nothing."""
        with contextlib.suppress(LedgerError):
            (first,) = await self.cursors.chosen(topic, (0,))
            await self._sessions.extend_session(first, name, consumer)

    # -- steps -------------------------------------------------------------------------------------------------------

    async def _poke(self, partitions: Iterable[Partition]) -> None:
        """Wakes polls that wait on these partitions."""
        await gather_all([self._waiters.poke(p.keys) for p in partitions])

    def _holds_of(self, partition: Partition, name: str) -> PendingAcks:
        key = (partition.topic_id, partition.number, name)
        holds = self._holds.get(key)
        if holds is None:
            if len(self._holds) >= HOLDS_KEPT:
                self._holds = {key: holds for key, holds in self._holds.items() if not holds.is_idle}
            holds = self._holds[key] = PendingAcks(
                self._store, partition.keys, partition.topic_id, name, self._ack_thresholds, self._clock
            )
        return holds

    def batch_acks(self, batched: BatchedWrite) -> None:
        """Changes the thresholds of transactional acknowledgements that share a call."""
        self._ack_thresholds = batched.thresholds(HOLDS_BYTES_MAX)
        for holds in self._holds.values():
            holds.limit(self._ack_thresholds)

    async def _held(self, holds: Awaitable[T], txn: TxnId) -> T:
        """Aborts the transaction after a conflict with another one (CL-16), but not after one with its own cumulative
        acknowledgement (AK-13)."""
        try:
            return await holds
        except TransactionConflict as error:
            if error.facts.get("transaction") != str(txn):
                try:
                    await self._abort(txn)
                except LedgerError as second:
                    error.add_note(f"aborting transaction {txn} failed as well: {second}")
            raise

    async def kind(self, topic: str, name: str) -> SubscriptionKind | None:
        """Returns None if there is no such subscription.  Raises UnknownTopic."""
        first = (await self.cursors.partitions(topic, fresh=True))[0]
        kind = await self._store.command("HGET", first.keys.subs, encode_name(name), key=first.keys.state)
        return None if kind is None or not name else KINDS[kind.decode()]  # "" is the sentinel of the hash

    async def list(self, topic: str) -> builtins.list[tuple[str, SubscriptionKind]]:
        first = (await self.cursors.partitions(topic))[0]
        rows = await self._store.command("HGETALL", first.keys.subs, key=first.keys.state)
        named = [(unquote(n.decode()), k) for n, k in zip(rows[::2], rows[1::2], strict=True) if n]
        return sorted((name, kind.decode()) for name, kind in named)
