"""Deferred work: what a transaction has sent and acknowledged before it begins, and the commit that needs no begin.

    send, ack ── waits here ── commit ──→ one batch of one partition: one idempotent append, no transaction
              │                           anything else:              one `transactions:execute`
              │ more than one request may carry, `begin()`, a result that is waited for: see deferral.py
              └────────────────────→ begin; what waits is sent in the transaction, before anything else

A commit whose answer was lost repeats its batch with the same producer id and sequence, or its step with the same
Idempotency-Key.  So each append has a producer of its own, which another one uses only after its outcome is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from redis_ledger.client import batches
from redis_ledger.client._async.joint_commits import AsyncJointCommits, AsyncPartCommit
from redis_ledger.client._async.leases import AsyncLeases
from redis_ledger.client._async.sender import AsyncBatch, AsyncLane, AsyncSender
from redis_ledger.client._async.waiting_acks import AsyncAckSource
from redis_ledger.client.batches import BatchingOptions, Entry, SendResult
from redis_ledger.client.concurrency import AsyncEvent, AsyncMutex
from redis_ledger.client.deferral import Limits, Waiting, begin_reason, begin_reason_of_ack
from redis_ledger.client.joint import Part
from redis_ledger.errors import ClientClosed, LedgerError, OutcomeUnknown, ProducerError, RequestTooLarge, Unavailable
from redis_ledger.ids import MessageId, TxnId
from redis_ledger.records.batch import SEQUENCES

AsyncPlace: TypeAlias = tuple[str, int]
IDLE_MAX = 1_000  # producers that no commit uses; one more is forgotten, and another one begins at sequence 0
STOPPED = "The client stopped while the transaction was being committed."


class AsyncDeferral:
    """What the transactions of a client share: the producers of their commits, and the bytes that wait."""

    def __init__(
        self,
        sender: AsyncSender,
        commits: AsyncJointCommits,
        leases: AsyncLeases,
        buffer_bytes: int,
    ) -> None:
        self.sender = sender
        self.commits = commits
        self.leases = leases
        self.buffer_bytes = buffer_bytes
        self.bytes_waiting = 0
        self._mutex = AsyncMutex()
        self._idle: dict[AsyncPlace, list[AsyncLane]] = {}
        self._idle_count = 0

    def take_producer(self, topic: str, partition: int) -> AsyncLane:
        with self._mutex:
            idle = self._idle.get((topic, partition))
            if not idle:
                return batches.PartitionQueue(topic, partition, None)
            self._idle_count -= 1
            queue = idle.pop()
            if not idle:
                del self._idle[topic, partition]
            return queue

    def give_back(self, queue: AsyncLane) -> None:
        with self._mutex:
            if self._idle_count < IDLE_MAX:
                self._idle.setdefault((queue.topic, queue.partition), []).append(queue)
                self._idle_count += 1

    def count(self, size: int) -> None:
        with self._mutex:
            self.bytes_waiting += size


class AsyncDeferred:
    """The records and acknowledgements of one transaction that has not begun.  Its caller holds the mutex of the
    transaction, except in coroutines."""

    def __init__(self, shared: AsyncDeferral) -> None:
        self._shared = shared
        self._batches: dict[AsyncPlace, AsyncBatch] = {}
        self._acks: dict[AsyncAckSource, dict[MessageId, None]] = {}
        self._waiting = Waiting()
        self._counted = 0
        self._queue: AsyncLane | None = None
        self._step: AsyncPartCommit | None = None

    def __del__(self) -> None:
        # A transaction that is abandoned is neither committed nor aborted.
        with suppress(ClientClosed):  # in a process that was forked since
            self._shared.count(-self._counted)

    def __bool__(self) -> bool:
        return bool(self._batches or self._acks)

    @property
    def has_acks(self) -> bool:
        return bool(self._acks)

    def acknowledges(self, source: AsyncAckSource) -> bool:
        return source in self._acks

    def partition_of(self, topic: str) -> int | None:
        """The partition that waits, if there is one of the topic."""
        return next((partition for name, partition in self._batches if name == topic), None)

    def put(self, topic: str, partition: int, entry: Entry, batching: BatchingOptions) -> tuple[AsyncBatch, int] | None:
        """The batch that the record joined, and its place there; None if the transaction has to begin."""
        waiting, shared, is_compressed = self._waiting, self._shared, batching.compression != 0
        limits = Limits(batching.batch_bytes, shared.buffer_bytes)
        if begin_reason(waiting, topic, partition, entry, is_compressed, limits, shared.bytes_waiting) is not None:
            return None
        batch = self._batches.get((topic, partition))
        places = waiting.places
        if batch is None:
            batch = batches.Batch(partition, AsyncEvent(), 0.0, batching.compression, False)
            self._batches[topic, partition] = batch
            places |= {(topic, partition)}
        size = entry.size
        index = batch.add(entry, size)
        only = waiting.is_batch_only or is_compressed
        self._waiting = Waiting(places, waiting.records + 1, waiting.size + size, waiting.ids, only)
        self._counted += size
        shared.count(size)
        return batch, index

    def add_acks(self, source: AsyncAckSource, ids: Sequence[MessageId], hold_s: float) -> bool:
        """Whether the acknowledgement waits; if not, the transaction has to begin.  hold_s: how long it may wait."""
        if begin_reason_of_ack(self._waiting, len(ids), hold_s) is not None:
            return False
        if ids:
            self._acks.setdefault(source, {}).update(dict.fromkeys(ids))
            self._waiting = self._waiting._replace(ids=self._waiting.ids + len(ids))
        return True

    def send_in(self, txn: object) -> None:
        """Sends the records that wait in the transaction, which has begun."""
        for (topic, _), batch in self._take_batches().items():
            self._shared.sender.put_batch(topic, txn, batch)

    async def ack_in(self, txn: TxnId) -> None:
        """Sends the acknowledgements that wait in the transaction, which has begun.  May be called again after an
        error."""
        while self._acks:
            source, ids = next(iter(self._acks.items()))
            await self._shared.leases.ack(*source, list(ids), txn=txn)
            self._acks.pop(source, None)

    def drop(self, error: LedgerError) -> None:
        """Fails the records that wait."""
        for batch in self._take_batches().values():
            batch.settle(error)

    async def give_back(self) -> None:
        """Returns the messages whose acknowledgement waits, for redelivery, as an abort does.

        Raises Unavailable; it may be called again.
        """
        while self._acks:
            source, ids = next(iter(self._acks.items()))
            try:
                await self._shared.leases.nack(*source, list(ids))
            except Unavailable:
                raise
            except LedgerError:
                pass  # there is nothing to return: the subscription was deleted, or may not be read any more
            self._acks.pop(source, None)

    async def commit(self, timeout_ms: int) -> bool:
        """Appends or executes what waits.  Returns False if it is more than the broker takes in one request: nothing
        was done, and the transaction has to begin.  timeout_ms: what is left of the timeout of the transaction.

        Raises OutcomeUnknown, Unavailable: it may be called again, and takes effect once.  Any other error: it had no
        effect.
        """
        if not self:
            return True
        self._release()
        # What stands when the caller itself is stopped in the middle.
        outcome: LedgerError | Mapping[AsyncPlace, SendResult] | None = OutcomeUnknown(STOPPED)
        try:
            if self._step is None and not self._acks and len(self._batches) == 1:
                outcome = await self._append()
            else:
                if self._step is None:
                    self._step = self._shared.commits.commit(Part(self._batches, self._acks, timeout_ms))
                outcome = await self._step.execute()
        except RequestTooLarge as error:
            if self._step is None:
                outcome = error
                raise
            outcome = self._step = None
            return False
        except LedgerError as error:
            outcome = error
            raise
        finally:
            if outcome is not None:
                self._settle(outcome)
        return True

    async def _append(self) -> Mapping[AsyncPlace, SendResult]:
        ((place, batch),) = self._batches.items()
        if self._queue is None:
            self._queue = self._shared.take_producer(*place)
        return {place: await self._shared.sender.send(self._queue, batch)}

    def _settle(self, outcome: LedgerError | Mapping[AsyncPlace, SendResult]) -> None:
        if isinstance(outcome, Unavailable):
            for batch in self._batches.values():
                batch.settle(outcome)  # for now: the same commit may be repeated
            if isinstance(outcome, OutcomeUnknown):
                self._doubt()
            return
        if self._queue is not None:
            self._settle_producer(self._queue, outcome)
            self._queue = None
        self._step = None
        if not isinstance(outcome, LedgerError):
            self._acks = {}
        for (topic, partition), batch in self._take_batches().items():
            if isinstance(outcome, LedgerError):
                self._shared.sender.on_failure(topic, None, outcome)
            batch.entries = []
            batch.settle(outcome if isinstance(outcome, LedgerError) else outcome.get((topic, partition), -1))

    def _doubt(self) -> None:
        for batch in self._batches.values():
            batch.doubt()

    def _settle_producer(self, queue: AsyncLane, outcome: LedgerError | Mapping[AsyncPlace, SendResult]) -> None:
        if isinstance(outcome, ProducerError):
            queue.producer = None
        elif not isinstance(outcome, LedgerError):
            (batch,) = self._batches.values()
            queue.sequence = (queue.sequence + len(batch.entries)) % SEQUENCES
        self._shared.give_back(queue)

    def _take_batches(self) -> dict[AsyncPlace, AsyncBatch]:
        taken, self._batches = self._batches, {}
        self._waiting = self._waiting._replace(places=frozenset(), records=0, size=0, is_batch_only=False)
        self._release()
        return taken

    def _release(self) -> None:
        self._shared.count(-self._counted)
        self._counted = 0
