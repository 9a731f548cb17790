"""Leases messages of a subscription's partitions to a consumer, and reads their payload.

    enter the session (exclusive) ─▶ lease on every partition ─▶ read payload ─▶ move dead letters ─▶ messages
                                       one fails: the others release their leases, and the error is raised

Leasing reads only log entries; the payload of leased records is read afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from redis_ledger.broker.subscriptions.batches_of_deliveries import batches_of
from redis_ledger.broker.subscriptions.consumer_sessions import ConsumerSessions
from redis_ledger.broker.subscriptions.cursors import Cursors
from redis_ledger.broker.subscriptions.dead_letter_moves import DeadLetterMover
from redis_ledger.broker.subscriptions.dead_letter_rules import DeadLetterRule, DeadLetterRules
from redis_ledger.broker.subscriptions.key_windows import KeyWindows
from redis_ledger.broker.subscriptions.long_polls import Leased
from redis_ledger.broker.types import Message, Skipped
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.cursor import key_shared, scripts
from redis_ledger.cursor.key_shared import KeyWindow
from redis_ledger.cursor.ranges import Range, to_ranges
from redis_ledger.cursor.scripts import Delivery, NotOwner, Received, ReceiveRequest
from redis_ledger.decoding.budget import Budget
from redis_ledger.errors import ConsumerBusy, LedgerError, TooLargeToDecode
from redis_ledger.ids import MessageId
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.record_slices import Found, Read, RecordSlice, read_pieces
from redis_ledger.ledger.waiters import Waiters
from redis_ledger.records.read import within
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import RateLimitedLog

ATTEMPTS_MAX = 3  # at entering the session of an exclusive subscription
DECODED_BYTES_MAX = 16 << 20  # soft bound on what one attempt decompresses; leases beyond it are released

_BATCH = operator.attrgetter("ledger", "entry", "base")
_limited_log = RateLimitedLog()


class ReceiveCall(NamedTuple):
    """The part of a consumer's call that is the same on every partition.  has: the last offset of each partition that
    the consumer has received (exclusive subscriptions).  skipped: gets records that are too large to decode.
    budget: creates the budget of an attempt, which ends with it, or with the call if there are messages.  reasons: why
    there are no more messages, of the last attempt, such as a limit."""

    name: str
    request: ReceiveRequest
    has: Mapping[int, int]
    records_max: int
    skipped: list[Skipped]
    budget: Callable[[], Budget]
    reasons: set[str]


class _Attempt(NamedTuple):
    """State shared by the deliveries of one attempt.  unreadable: by partition, how many records of a batch that cannot
    be read are still to lease, so that they are skipped at once and not `records_max` at a time."""

    budget: Budget
    skipped: list[Skipped]
    unreadable: dict[int, int]


class Leasing:
    def __init__(
        self,
        store: Store,
        cursors: Cursors,
        sessions: ConsumerSessions,
        waiters: Waiters,
        rules: DeadLetterRules,
        mover: DeadLetterMover,
        config: Config,
        clock: Clock,
    ) -> None:
        self._store, self._cursors, self._sessions, self._waiters = store, cursors, sessions, waiters
        self._rules, self._mover, self._config, self._clock = rules, mover, config, clock
        self._windows = KeyWindows()

    async def once(self, receive: ReceiveCall, partitions: Sequence[Partition]) -> Leased:
        """As `lease`.  If the caller is cancelled, the leased messages are released."""
        leasing = asyncio.ensure_future(self.lease(receive, partitions))
        try:
            return await asyncio.shield(leasing)
        except asyncio.CancelledError:
            with contextlib.suppress(LedgerError):
                await self.release(receive, partitions, (await leasing).messages)
            raise

    async def lease(self, receive: ReceiveCall, partitions: Sequence[Partition]) -> Leased:
        """Leases messages of these partitions, in the consumer's session."""
        name, consumer = receive.name, receive.request.consumer
        (first,) = await self._cursors.chosen(partitions[0].topic, (0,))
        for _ in range(ATTEMPTS_MAX):
            epoch = await self._cursors.act(first, name, lambda p: self._sessions.enter(p, name, consumer))
            try:
                entered = receive._replace(request=receive.request._replace(epoch=epoch))
                return await self._share_out(entered, partitions)
            except NotOwner:
                self._sessions.forget(first, name, consumer)
        raise ConsumerBusy(
            f"Several consumers are competing for the exclusive subscription {name!r}; try again, or use a shared "
            "subscription.",
            retry_after_ms=self._config.consumer_session_ms,
        )

    async def release(self, receive: ReceiveCall, partitions: Sequence[Partition], messages: Sequence[Message]) -> None:
        """Returns messages that do not reach the consumer for redelivery."""
        await self._release(partitions, receive.name, receive.request, [each.id for each in messages])

    async def _share_out(self, receive: ReceiveCall, partitions: Sequence[Partition]) -> Leased:
        """Leases on all partitions, first an equal share on each, then the rest, until the budget is spent.  Before
        that, a request that was sent before takes over on all of them what its earlier attempts have leased."""
        name, request, has, records_max, skipped, budget, reasons = receive
        messages: list[Message] = []
        attempt = _Attempt(budget(), [], {})
        answers: dict[int, Received] = {}
        share = -(-records_max // len(partitions))
        asked = list(partitions)
        reached = dict(has)
        is_take_over = request.takes_over and request.epoch is None  # an ordered one gets all it has not received
        while asked and (is_take_over or len(messages) < records_max):
            if attempt.budget.is_spent:
                asked = [p for p in asked if attempt.unreadable.get(p.number)]
                if not asked:
                    break
            quota = 0 if is_take_over else min(share, records_max - len(messages))
            width = len(asked) if is_take_over else max(1, (records_max - len(messages)) // quota)
            now_asked, asked = asked[:width], asked[width:]
            received = await asyncio.gather(
                *(
                    self._lease(
                        p,
                        name,
                        request,
                        max(quota, attempt.unreadable.pop(p.number, 0)),
                        reached.get(p.number),
                        attempt,
                        unseen=p.number in has,
                    )
                    for p in now_asked
                ),
                return_exceptions=True,
            )
            failures = list[BaseException]()
            for partition, outcome in zip(now_asked, received, strict=True):
                if isinstance(outcome, BaseException):
                    failures.append(outcome)
                    continue
                some, answer = outcome
                if partition.number in answers:
                    # Messages of an earlier round come again if a reply of Redis was lost, or if they were handed back.
                    has_already = {each.id for each in messages}
                    some = [each for each in some if each.id not in has_already]
                messages += some
                answers[partition.number] = answer
                if answer.deliveries:  # redeliveries may lie below what the consumer has
                    last = answer.deliveries[-1].last
                    reached[partition.number] = max(reached.get(partition.number, last), last)
                if answer.more:
                    asked.append(partition)
            if failures:
                attempt.budget.end()
                await self._release(partitions, name, request, [each.id for each in messages])
                raise failures[0]
            if is_take_over:
                is_take_over, request = False, request._replace(takes_over=False)
            else:
                share = records_max
        if self._sessions.is_key_shared(partitions[0].topic_id, name):
            # A later round may get earlier records of a key, which were handed back.
            messages.sort(key=lambda each: each.id)
        if len(messages) > records_max:  # two attempts leased at once
            await self._release(partitions, name, request, [each.id for each in messages[records_max:]])
            del messages[records_max:]
        if not messages:
            attempt.budget.end()
        skipped += attempt.skipped
        reasons.clear()
        reasons.update(each.reason for each in answers.values() if each.reason is not None)
        for reason in reasons:
            metrics.receives_limited.labels(reason).inc()
        return Leased(messages, answers, bool(attempt.skipped))

    async def _lease(
        self, partition: Partition, name: str, request: ReceiveRequest, max_records: int, after: int | None,
        attempt: _Attempt, *, unseen: bool,
    ) -> tuple[list[Message], Received]:  # fmt: skip
        if self._sessions.is_key_shared(partition.topic_id, name):
            received = await self._lease_keys(partition, name, request, max_records, attempt)
        else:
            received = await self._cursors.act(
                partition,
                name,
                lambda p: scripts.receive(
                    self._store, p.keys, p.topic_id, name, request,
                    now_ms=self._clock.now_ms(), records_max=max_records, after=after, unseen=unseen,
                    unacked_max=_unacked_max(p),
                ),
            )  # fmt: skip
        if not received.deliveries:
            return [], received
        # Leasing reads no head of the partition, and the broker that appended or fired the records may be gone.
        partition.offsets.answered.learn_end(max(d.last for d in received.deliveries) + 1)
        try:
            deliveries, chunks = await batches_of(partition.reader, received.deliveries)
            messages, read = await self._read(partition, name, request.consumer, deliveries, attempt)
        except BaseException:
            await self._release([partition], name, request, _ids_of(partition, received.deliveries))
            raise
        if chunks:  # subscriptions skip them, as those that have log entries of their own
            await scripts.ack(self._store, partition.keys, partition.topic_id, name, request.consumer, chunks)
        if read < len(deliveries):
            await self._release([partition], name, request, _ids_of(partition, deliveries[read:]))
        return messages, received

    async def _lease_keys(
        self, partition: Partition, name: str, request: ReceiveRequest, max_records: int, attempt: _Attempt
    ) -> Received:
        """Of a key_shared subscription: with windows until there are enough records, or no new ones."""
        window, found, left = self._windows.known(partition, name), list[Delivery](), max_records
        offsets = set[int]()
        now_ms = self._clock.now_ms()  # one for all, so that these leases have a deadline in common
        try:
            while True:
                some = await self._lease_in(partition, name, request, window, left, now_ms)
                fresh = _not_among(some.deliveries, offsets)
                found += fresh
                left -= sum(each.last - each.first + 1 for each in fresh)
                if not some.needs_window or left <= 0:
                    return some._replace(deliveries=sorted(found))  # those that waited come by slot
                request = request._replace(takes_over=False)
                window = await self._windows.of(partition, name, some, attempt.budget)
        except BaseException:
            await self._release([partition], name, request, _ids_of(partition, found))
            raise

    async def _lease_in(
        self,
        partition: Partition,
        name: str,
        request: ReceiveRequest,
        window: KeyWindow,
        max_records: int,
        now_ms: int,
    ) -> Received:
        return await self._cursors.act(
            partition,
            name,
            lambda p: key_shared.receive(
                self._store, p.keys, p.topic_id, name, request, window,
                now_ms=now_ms, records_max=max_records, unacked_max=_unacked_max(p),
                waiting_max=self._config.key_shared_waiting_max,
            ),
        )  # fmt: skip

    async def _read(
        self, partition: Partition, name: str, consumer: str, deliveries: Sequence[Delivery], attempt: _Attempt
    ) -> tuple[list[Message], int]:
        """Returns the leased messages, without those that are moved to the dead letters, and the number of deliveries
        that the budget covered."""
        rule = self._rules.get(partition.topic, partition.topic_id, name)
        is_keyed = self._sessions.is_key_shared(partition.topic_id, name)
        messages, unreadable = list[Message](), list[Range]()
        now_ms, expired = self._clock.now_ms(), set[MessageId]()
        # Deliveries of one batch that follow each other are read together: with keys, each has about one record.
        batches = [list(some) for _, some in itertools.groupby(deliveries, _BATCH)]
        pieces = [_slice_of(some) for some in batches]
        pieces_read = await read_pieces(partition.reader, pieces, attempt.budget, self._windows.records_of(partition))
        read = [(d, _part_of(found, d)) for some, found in zip(batches, pieces_read, strict=False) for d in some]
        for d, found in read:
            if isinstance(found, TooLargeToDecode):
                if not await self._is_moved(rule, partition, name, consumer, d, found):
                    attempt.skipped.append(Skipped(partition.number, d.first, d.last, found))
                if not is_keyed:  # with keys, each would be an entry of the answer
                    attempt.unreadable[partition.number] = d.base + d.records - 1 - d.last
                continue
            if isinstance(found, LedgerError):
                _limited_log.error(
                    "a batch that cannot be read was skipped", topic=partition.topic, partition=partition.number,
                    offset=d.base, subscription=name, error=str(found),
                )  # fmt: skip
                unreadable.append(Range(d.first, d.last))
                attempt.unreadable[partition.number] = d.base + d.records - 1 - d.last
                partition.traffic.unreadable += d.last - d.first + 1
                continue
            shift, records = found
            is_expired = rule is not None and bool(rule.expire_ms) and d.appended_ms + rule.expire_ms <= now_ms
            if is_expired:
                expired |= {MessageId(partition.number, r.offset + shift) for r in records}
            elif rule is None or d.deliveries < rule.max_deliveries:
                partition.traffic.delivered(len(records), d.size, d.deliveries)
            for r in records:
                at = MessageId(partition.number, r.offset + shift)
                messages.append(Message(at, d.deliveries, r.timestamp_ms, r.key, r.value, r.headers))
            if len(records) <= d.last - d.first:  # the others were compacted away
                there = {r.offset + shift for r in records}
                unreadable += to_ranges([offset for offset in range(d.first, d.last + 1) if offset not in there])
        if unreadable:  # batches of Kafka producers are stored undecoded; a damaged one must not block later ones
            await scripts.ack(self._store, partition.keys, partition.topic_id, name, consumer, unreadable)
        if rule is not None:
            messages = await self._mover.move_exhausted(
                rule, partition.topic, name, consumer, messages, expired, now_ms
            )
        return messages, len(read)

    async def _is_moved(
        self,
        rule: DeadLetterRule | None,
        partition: Partition,
        name: str,
        consumer: str,
        d: Delivery,
        error: TooLargeToDecode,
    ) -> bool:
        """Moves records that are too large to decode to the dead letters; returns whether it did."""
        if rule is not None and d.deliveries >= rule.max_deliveries:
            unread = Skipped(partition.number, d.first, d.last, error)
            now_ms = self._clock.now_ms()
            return await self._mover.move_undecodable(
                rule, partition.topic, name, consumer, unread, d.deliveries, now_ms
            )
        if not d.deliveries:
            _limited_log.warning(
                "a batch that is too large to decode was skipped", topic=partition.topic, partition=partition.number,
                offset=d.base, subscription=name, error=str(error),
            )  # fmt: skip
            partition.traffic.unreadable += d.last - d.first + 1
        return False

    async def _release(
        self, partitions: Sequence[Partition], name: str, request: ReceiveRequest, ids: Sequence[MessageId]
    ) -> None:
        """Returns messages for redelivery, except what another attempt of the request has taken over.  If that fails,
        they are redelivered after the ack timeout."""
        offsets: dict[int, list[int]] = {}
        for each in ids:
            offsets.setdefault(each.partition, []).append(each.offset)
        now = self._clock.now_ms()

        async def nack(p: Partition) -> None:
            ranges = to_ranges(offsets[p.number])
            with contextlib.suppress(LedgerError):
                await scripts.nack(
                    self._store, p.keys, p.topic_id, name, request.consumer, ranges,
                    now_ms=now, unseen=True, request=request.token,
                )  # fmt: skip
                await self._waiters.poke(p.keys)

        await asyncio.gather(*(nack(p) for p in partitions if p.number in offsets))


def _slice_of(deliveries: Sequence[Delivery]) -> RecordSlice:
    """Of deliveries of one batch."""
    first, last = min(d.first for d in deliveries), max(d.last for d in deliveries)
    return RecordSlice(deliveries[0].entry_of_log, first, last)


def _part_of(found: Read, d: Delivery) -> Read:
    """The records of a delivery, of those that were read of its batch."""
    if not isinstance(found, Found):
        return found
    return found._replace(records=within(found.records, d.first - found.shift, d.last - found.shift))


def _unacked_max(partition: Partition) -> tuple[int, int]:
    return partition.config.max_unacked_per_consumer, partition.config.max_unacked_per_subscription


def _ids_of(partition: Partition, deliveries: Sequence[Delivery]) -> list[MessageId]:
    return [MessageId(partition.number, n) for d in deliveries for n in range(d.first, d.last + 1)]


def _not_among(deliveries: Sequence[Delivery], offsets: set[int]) -> list[Delivery]:
    """Without the offsets, to which it adds the rest: a call whose reply was lost repeats what earlier ones leased."""
    found = list[Delivery]()
    for each in deliveries:
        span = range(each.first, each.last + 1)
        if offsets.isdisjoint(span):
            offsets.update(span)
            found.append(each)
            continue
        wanted = [offset for offset in span if offset not in offsets]
        offsets.update(wanted)
        found += [each._replace(first=first, last=last) for first, last in to_ranges(wanted)]
    return found
