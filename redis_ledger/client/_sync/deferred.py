"""Deferred records: what a transaction has sent before it begins, and the commit that needs no transaction for it.

    send ── fits one batch of one partition ──→ waits here ── commit ──→ one idempotent append: no coordinator, marker
              │ another partition, an acknowledgement, `begin()`, a result that is waited for: see deferral.py
              └─────────────────────────────→ begin; what waits is sent in the transaction, before anything else

A commit whose answer was lost repeats its batch with the same producer id and sequence.  So each commit has a producer
of its own, which another one uses only after its outcome is known.
"""

from __future__ import annotations

from typing import TypeAlias

from redis_ledger.client import batches
from redis_ledger.client._sync.sender import Batch, Lane, Sender
from redis_ledger.client.batches import BatchingOptions, Entry
from redis_ledger.client.concurrency import Event, Mutex
from redis_ledger.client.deferral import Limits, Waiting, begin_reason
from redis_ledger.errors import LedgerError, OutcomeUnknown, ProducerError, Unavailable
from redis_ledger.records.batch import SEQUENCES

Place: TypeAlias = tuple[str, int]
IDLE_MAX = 1_000  # producers that no commit uses; one more is forgotten, and another one begins at sequence 0


class Deferral:
    """What the transactions of a client share: the producers of their commits, and the bytes that wait."""

    def __init__(self, sender: Sender, buffer_bytes: int) -> None:
        self.sender = sender
        self.buffer_bytes = buffer_bytes
        self.bytes_waiting = 0
        self._mutex = Mutex()
        self._idle: dict[Place, list[Lane]] = {}
        self._idle_count = 0

    def take_producer(self, topic: str, partition: int) -> Lane:
        with self._mutex:
            idle = self._idle.get((topic, partition))
            if not idle:
                return batches.PartitionQueue(topic, partition, None)
            self._idle_count -= 1
            queue = idle.pop()
            if not idle:
                del self._idle[topic, partition]
            return queue

    def give_back(self, queue: Lane) -> None:
        with self._mutex:
            if self._idle_count < IDLE_MAX:
                self._idle.setdefault((queue.topic, queue.partition), []).append(queue)
                self._idle_count += 1

    def count(self, size: int) -> None:
        with self._mutex:
            self.bytes_waiting += size


class DeferredRecords:
    """The records of one transaction that has not begun.  Its caller holds the mutex of the transaction, except in
    `append`."""

    def __init__(self, shared: Deferral) -> None:
        self._shared = shared
        self._topic = ""
        self._batch: Batch | None = None
        self._counted = 0
        self._queue: Lane | None = None

    def __del__(self) -> None:
        # A transaction that is abandoned is neither committed nor aborted.
        self._shared.count(-self._counted)

    def __bool__(self) -> bool:
        return self._batch is not None

    def partition_of(self, topic: str) -> int | None:
        """The partition that waits, if it is one of the topic."""
        return self._batch.partition if self._batch is not None and self._topic == topic else None

    def put(self, topic: str, partition: int, entry: Entry, batching: BatchingOptions) -> tuple[Batch, int] | None:
        """The batch that the record joined, and its place there; None if the transaction has to begin."""
        batch, shared = self._batch, self._shared
        waiting = None
        if batch is not None:
            waiting = Waiting(self._topic, batch.partition, len(batch.entries), batch.size)
        limits = Limits(batching.batch_bytes, shared.buffer_bytes)
        if begin_reason(waiting, topic, partition, entry, limits, shared.bytes_waiting) is not None:
            return None
        if batch is None:
            self._topic = topic
            batch = self._batch = batches.Batch(partition, Event(), 0.0, batching.compression, False)
        size = entry.size
        index = batch.add(entry, size)
        self._counted += size
        shared.count(size)
        return batch, index

    def send_in(self, txn: object) -> None:
        """Sends what waits in the transaction, which has begun."""
        batch, self._batch = self._batch, None
        self._release()
        if batch is not None:
            self._shared.sender.put_batch(self._topic, txn, batch)

    def drop(self, error: LedgerError) -> None:
        """Fails what waits."""
        batch, self._batch = self._batch, None
        self._release()
        if batch is not None:
            batch.settle(error)

    def append(self) -> None:
        """Appends what waits, in one batch.

        Raises OutcomeUnknown, Unavailable: it may be called again, and appends once.  Any other error: nothing was
        written.
        """
        batch, shared = self._batch, self._shared
        if batch is None:
            return
        if self._queue is None:
            self._queue = shared.take_producer(self._topic, batch.partition)
        queue = self._queue
        self._release()
        # What stands when the caller itself is stopped in the middle.
        outcome: batches.SendResult = OutcomeUnknown("The client stopped while the transaction was being committed.")
        try:
            outcome = shared.sender.send(queue, batch)
        except LedgerError as error:
            outcome = error
            raise
        finally:
            self._settle(queue, batch, outcome)

    def _settle(self, queue: Lane, batch: Batch, outcome: batches.SendResult) -> None:
        if isinstance(outcome, Unavailable):
            batch.settle(outcome)  # for now: the same batch may be appended again
            return
        if isinstance(outcome, ProducerError):
            queue.producer = None
        if isinstance(outcome, LedgerError):
            self._shared.sender.on_failure(queue.topic, None, outcome)
        else:
            queue.sequence = (queue.sequence + len(batch.entries)) % SEQUENCES
        self._batch = self._queue = None
        batch.entries = []
        batch.settle(outcome)
        self._shared.give_back(queue)

    def _release(self) -> None:
        self._shared.count(-self._counted)
        self._counted = 0
