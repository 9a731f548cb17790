"""One partition: append record batches, read them back.

Append.  The payload goes into the active payload ledger by a plain XADD, and in the same MULTI a script accepts it
(epoch, sequence, fence: it then gets an offset and a log entry) or deletes it again.  The script assigns the offset, so
any number of brokers append to one partition without a race.  Appends that arrive together share a call
(append_calls.py).  Transactions of a topic with `txn_buffer=sidecar` get their offsets when they commit (sidecar.py).

PartitionReader reads; accepted batches go into its tail cache.  Retention seals and trims.

Source: PIP-31 (transaction buffer, marker approach), KIP-98; docs/decisions/0002.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import LedgerError, OutcomeUnknown, StoreUnavailable
from redis_ledger.ids import TxnId
from redis_ledger.ledger.answered_offsets import AnsweredEnd
from redis_ledger.ledger.append_calls import AppendCalls
from redis_ledger.ledger.append_errors import AppendErrors, refusal
from redis_ledger.ledger.append_request import (
    TIMESTAMP_MAX,
    Accepted,
    AppendRequest,
    Kind,
    QueuedAppend,
    Scheduling,
    accepted,
    all_accepted,
    length,
    stamped,
    stretches,
)
from redis_ledger.ledger.entries import TRANSACTIONAL, LogEntry
from redis_ledger.ledger.partition_offsets import PartitionOffsets
from redis_ledger.ledger.reader import OffloadReading, PartitionReader
from redis_ledger.ledger.registration import Registration
from redis_ledger.ledger.retention import Retention, Trimmed, ledger_bytes_max
from redis_ledger.ledger.settings import CREATE_TIME
from redis_ledger.ledger.tail_cache import Tail, Tails
from redis_ledger.store.group_commit import GroupCommit
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import ScriptMissing, Store
from redis_ledger.telemetry.series import TopicTraffic

CREATE = Script.load("ledger/create")
DELETE = Script.load("ledger/delete")

GAPS = (Status.SEQUENCE_GAP, Status.UNKNOWN_PRODUCER)


class Partition:
    """One partition of one incarnation of a topic (its topic id).

    config              with the settings of the topic
    delays_by_headers   whether a batch of a Kafka client is split by the delivery headers of its records
    traffic             the counters of the topic
    on_scheduled        called after records were stored for later
    on_transactional    called after every transactional batch
    """

    def __init__(
        self,
        store: Store,
        topic: str,
        number: int,
        topic_id: str,
        config: Config,
        clock: Clock,
        tail: Tail | None = None,
        offload_reader: OffloadReading | None = None,
        answered: AnsweredEnd | None = None,
        *,
        delays_by_headers: bool = False,
        traffic: TopicTraffic | None = None,
        on_scheduled: Callable[[Partition, Scheduling], None] | None = None,
        on_transactional: Callable[[], object] = lambda: None,
    ) -> None:
        self.offsets = offsets = PartitionOffsets(
            store, topic, number, topic_id, tail or Tails(config.tail_cache_bytes).open(), answered
        )
        self.reader = PartitionReader(store, offsets, offload_reader)
        self.topic, self.number, self.topic_id = topic, number, topic_id
        self.keys, self.tail = offsets.keys, offsets.tail
        self._store, self._clock, self._on_scheduled = store, clock, on_scheduled
        self._on_transactional = on_transactional
        self._calls = AppendCalls(self.keys, topic_id)
        self.configure(config, delays_by_headers=delays_by_headers)
        self.traffic = traffic or TopicTraffic()
        self._has_hasty = False  # set by the first append that does not await replicas
        self._is_mixed = False  # set by the first batch that is not plain: without one, a call needs no division
        self._rolling: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._refusals = AppendErrors(self._loop.time)
        self._group = GroupCommit(
            self._send,
            self._settle,
            items_max=16,
            bytes_max=4 << 20,
            turnstile=partial(store.turnstile, self.keys.state),
            puts_back=self._is_unclear,
        )
        self._retention = Retention(store, self.keys, topic, topic_id)

    def configure(self, config: Config, *, delays_by_headers: bool) -> None:
        """Applies the settings of the topic, also when they change."""
        self.config, self.delays_by_headers = config, delays_by_headers
        self._ledger_bytes_max = ledger_bytes_max(config)
        self._has_sidecar = config.txn_buffer == "sidecar"
        self._stamps = config.message_timestamp_type != CREATE_TIME

    def count_in(self, traffic: TopicTraffic) -> None:
        """Uses other counters from now on."""
        self.traffic = traffic

    # -- append ------------------------------------------------------------------------------------------------------

    def append(
        self,
        request: AppendRequest,
        txn: TxnId | Registration | None = None,
        *,
        verified: bool = True,
        awaits_replicas: bool = True,
    ) -> asyncio.Future[Accepted]:
        """Queues a batch.  Returns a future of its offset.

        Records that are due later are invisible until then; in a transaction they are scheduled when it commits.
        txn: a Registration only if no record is due later.  verified: the coordinator has confirmed that the
        transaction is open and has this partition.

        Fails with NotVerified, TransactionEnded, OtherOpen, SequenceGap, UnknownProducer, StaleEpoch, UnknownTopic,
        DuplicateSequence, InvalidProducerId, StorageFull, StoreUnavailable (not written), OutcomeUnknown (a reply was
        lost, and the batch has no sequence or sending it again failed).  A batch behind one that failed with an
        Unavailable fails with the same error.
        """
        if self._stamps:
            request = stamped(request, self._clock.now_ms())
        is_aside = self._has_sidecar and txn is not None
        self._is_mixed |= is_aside or request.split is not None
        self._has_hasty |= not awaits_replicas
        future: asyncio.Future[Accepted] = self._loop.create_future()
        deadline = self._loop.time() + self.config.redis_retry_ms / 1000
        size = len(request.payload) if request.split is None else request.size
        self._group.add(QueuedAppend(request, txn, verified, future, deadline, False, awaits_replicas, is_aside), size)
        return future

    def refused(self, request: AppendRequest, error: BaseException) -> BaseException:
        """The error to answer for a batch with a sequence.  An Unavailable is also the answer of those behind it."""
        return self._refusals.answer(request, error)

    @property
    def is_idle(self) -> bool:
        return self._group.is_idle

    def _send(self, items: list[QueuedAppend]) -> asyncio.Future[Any]:
        waits = not self._has_hasty or any(item.awaits_replicas for item in items)
        now_ms, calls = self._clock.now_ms(), self._calls
        if not self._is_mixed:
            commands = calls.commands(Kind.PLAIN, items, now_ms)
        else:
            commands = [each for kind, some in stretches(items) for each in calls.commands(kind, some, now_ms)]
        return self._store.multi(self.keys.state, commands, awaits_replicas=waits)

    def _is_unclear(self, items: list[QueuedAppend], done: asyncio.Future[Any]) -> bool:
        """True if part of a call may be sent again.  If not, the next call is sent first, which keeps Redis busy."""
        return done.cancelled() or done.exception() is not None or not all_accepted(items, done.result())

    def _settle(self, items: list[QueuedAppend], done: asyncio.Future[Any]) -> None:
        error = done.exception() if not done.cancelled() else StoreUnavailable()
        if error is not None:
            self._again(self._doubtful(items, error))
        elif not self._is_mixed:
            self._again(self._settle_stretch(Kind.PLAIN, items, done.result()[-1]))
        else:
            replies, at, again = done.result(), -1, list[QueuedAppend]()
            for kind, some in stretches(items):
                at += length(kind, some)
                again += self._settle_stretch(kind, some, replies[at], bool(again))
            self._again(again)

    def _settle_stretch(
        self, kind: Kind, items: list[QueuedAppend], reply: Any, is_behind: bool = False
    ) -> list[QueuedAppend]:
        """Settles each append.  Returns those to send again.  is_behind: earlier ones are, so a gap is expected."""
        if isinstance(reply, Exception):
            return self._doubtful(items, reply)
        if reply[0] == Status.OK:
            leader_epoch, again, now_ms = int(reply[1]), list[QueuedAppend](), self._clock.now_ms()
            for item, answer in zip(items, reply[7:] if kind is Kind.SPLIT else reply[4:], strict=True):
                if answer[0] == Status.OK and kind is Kind.SPLIT:
                    self._accept_split(item, Accepted(int(answer[1]), leader_epoch, False, int(answer[2])), now_ms)
                elif answer[0] in (Status.OK, Status.DUPLICATE):
                    self._accept(item, accepted(answer, leader_epoch), now_ms)
                elif answer[0] == Status.OTHER_BUFFER:  # it began before the setting was changed
                    self._is_mixed = True
                    again.append(item._replace(is_aside=not item.is_aside))
                elif (is_behind or again) and answer[0] in GAPS:
                    again.append(item)
                else:
                    self._fail(item, refusal(self.topic, self.number, item, answer))
            if kind is Kind.SPLIT:
                self._note_scheduled(items, reply)
            self.offsets.answered.learn(leader_epoch, self.tail.end)
            self._roll_when_due(kind, int(reply[2]), int(reply[3]), now_ms)
            return again
        if reply[0] in (Status.LEDGER_MOVED, Status.HEALED):
            if reply[0] == Status.LEDGER_MOVED and kind is not Kind.ASIDE:
                self._calls.use_ledger(int(reply[1]))
            if reply[0] == Status.LEDGER_MOVED and kind is not Kind.PLAIN:
                self._calls.delay_ledger = int(reply[-1])
            return items  # none was accepted
        for item in items:
            self._fail(item, refusal(self.topic, self.number, item, reply))
        return []

    def _accept_split(self, item: QueuedAppend, outcome: Accepted, now_ms: int) -> None:
        split = item.request.split
        assert split is not None
        if (now := split.now) is not None:
            self._count(now.records, len(now.payload))
            self._remember(item, outcome.base_offset, now.payload, now.records, now.newest_ms, now_ms)
        for later in split.later:
            self._count(later.records, len(later.payload))
        self._resolve(item, outcome)

    def _note_scheduled(self, items: list[QueuedAppend], reply: list[Any]) -> None:
        """Passes on what was scheduled, with the first due time of the accepted batches."""
        dues = [
            later.due_ms
            for item, answer in zip(items, reply[7:], strict=True)
            if answer[0] == Status.OK and item.request.split is not None
            for later in item.request.split.later
        ]
        if dues and self._on_scheduled is not None:
            self._on_scheduled(self, Scheduling(min(dues), int(reply[6]), int(reply[4]), int(reply[5])))

    def _doubtful(self, items: list[QueuedAppend], error: BaseException) -> list[QueuedAppend]:
        again: list[QueuedAppend] = []
        lost = isinstance(error, OutcomeUnknown)
        for item in items:
            if isinstance(error, ScriptMissing) or (
                lost and item.request.is_idempotent and self._loop.time() < item.deadline
            ):
                again.append(item._replace(in_doubt=item.in_doubt or lost))
            elif item.in_doubt and not lost:
                self._fail(item, OutcomeUnknown(f"A reply of Redis was lost, and asking again failed: {error}"))
            else:
                self._fail(item, error)
        return again

    def _again(self, items: list[QueuedAppend]) -> None:
        if items:
            self._group.put_back(items, [item.request.size for item in items])

    def _accept(self, item: QueuedAppend, outcome: Accepted, now_ms: int) -> None:
        if not outcome.duplicate:
            request = item.request
            self._count(request.records, len(request.payload))
            newest_ms = min(request.max_timestamp_ms, TIMESTAMP_MAX)
            self._remember(item, outcome.base_offset, request.payload, request.records, newest_ms, now_ms)
        self._resolve(item, outcome)

    def _count(self, records: int, size: int) -> None:
        self.traffic.records_in += records
        self.traffic.bytes_in += size

    def _remember(
        self,
        item: QueuedAppend,
        base_offset: int,
        payload: bytes | memoryview,
        records: int,
        newest_ms: int,
        now_ms: int,
    ) -> None:
        """Adds an appended batch to the tail cache, if it has offsets yet."""
        request, flags = item.request, 0 if item.txn is None else TRANSACTIONAL
        if flags:
            self._on_transactional()
        if base_offset < 0:
            return
        entry = LogEntry(
            0, 0, base_offset, records, len(payload), request.producer_id, request.epoch, request.sequence, flags,
            now_ms, newest_ms,
        )  # fmt: skip
        self.tail.add(entry, payload)

    def _resolve(self, item: QueuedAppend, outcome: Accepted) -> None:
        if self._stamps and item.request.split is None:
            outcome = outcome._replace(append_ms=item.request.max_timestamp_ms)
        if not item.future.done():
            item.future.set_result(outcome)

    def _fail(self, item: QueuedAppend, error: BaseException) -> None:
        if item.request.is_idempotent:
            error = self.refused(item.request, error)
        if not item.future.done():
            item.future.set_exception(error)

    # -- maintenance ---------------------------------------------------------------------------------------------------

    async def create(self) -> bool:
        """Creates the partition's keys.  Returns False if a partition of another topic id exists."""
        reply = await self._store.call(CREATE, self.keys.create_keys(), (self.topic_id, self._clock.now_ms()))
        return bool(reply[0] == Status.OK)

    def _roll_when_due(self, kind: Kind, ledger_bytes: int, created_ms: int, now_ms: int) -> None:
        full = ledger_bytes >= self._ledger_bytes_max
        old = now_ms - created_ms >= self.config.ledger_age_ms_max
        if (full or old) and (self._rolling is None or self._rolling.done()):
            rolling = self._rotate() if kind is Kind.ASIDE else self.roll()
            self._rolling = self._loop.create_task(_quietly(rolling))

    async def _rotate(self) -> None:
        self._calls.delay_ledger = await self._retention.rotate(self._calls.delay_ledger, self._clock.now_ms())

    async def roll(self) -> int:
        """Seals the ledger that this broker takes for active, and opens the next.  Returns the active ledger."""
        return self._calls.use_ledger(await self._retention.roll(self._calls.ledger, self._clock.now_ms()))

    async def seal(self) -> int:
        """Seals the active ledger, read from Redis, unless it is empty.  Returns the active ledger."""
        _, active, _ = await self._retention.open_ledgers()
        if active.entries == 0:
            return active.number
        return self._calls.use_ledger(await self._retention.roll(active.number, self._clock.now_ms()))

    async def seal_what_is_due(self) -> None:
        """Seals the active ledger and the delay ledger, each if it is full, old, or has only trimmed records, also
        without an append."""
        start_offset, active, late = await self._retention.open_ledgers()
        now_ms = self._clock.now_ms()
        if active.is_due(start_offset, now_ms, self.config):
            self._calls.use_ledger(await self._retention.roll(active.number, now_ms))
        if late and late.is_due(start_offset, now_ms, self.config):
            self._calls.delay_ledger = await self._retention.rotate(late.number, now_ms)

    async def trim(
        self,
        *,
        retention_ms: int,
        retention_bytes: int,
        below_offset: int = -1,
        acknowledged: bool = False,
        leftovers: Mapping[str, str] | None = None,
        entries_max: int = 1000,
    ) -> Trimmed:
        """Moves the log start by at most entries_max log entries, and drops the ledgers below it.

        acknowledged   time and bytes trim only what every subscription has acknowledged
        leftovers      cursors to ignore: subscription (percent-encoded) → creation time, as stored
        below_offset   is trimmed regardless of the others, up to the stable offset
        """
        before_ms = -1 if retention_ms < 0 else self._clock.now_ms() - retention_ms
        trimmed = await self._retention.trim(
            before_ms=before_ms, bytes_max=retention_bytes, below_offset=below_offset, acknowledged=acknowledged,
            leftovers=leftovers or {}, entries_max=entries_max,
        )  # fmt: skip
        if trimmed.entries or below_offset >= 0:
            self.reader.trimmed(trimmed.start_offset)
        return trimmed

    async def delete(self) -> None:
        """Closes the partition, then unlinks its keys.  A retry completes an earlier attempt."""
        k, command = self.keys, self._store.command
        closed = await self._store.call(DELETE, (k.state,), (self.topic_id,))
        if not closed[1]:
            return
        reads = (("HKEYS", k.ledgers), ("HKEYS", k.subs), ("HKEYS", k.delay.snaps), ("EXISTS", k.snapshot))
        ledgers, subs, snapshots, has_snapshot = await asyncio.gather(*(command(*read, key=k.state) for read in reads))
        names = [unquote(name.decode()) for name in subs if name]
        keys = k.delete_keys({-1, *map(int, ledgers)}, [each.decode() for each in snapshots if each], names)
        await self._store.call(DELETE, [*keys, k.snapshot] if has_snapshot else keys, (self.topic_id,))


async def _quietly(rolling: Awaitable[object]) -> None:
    try:
        await rolling
    except LedgerError:
        return  # the next append tries again
