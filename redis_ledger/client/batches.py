"""Records that wait to be sent together, and whose turn it is: deciding only, no waiting and no network.

    put ─→ queue (topic, partition, transaction) ─→ batch being filled ─ full or lingered ─→ ready ─→ take ─→ a request
                                                                                  ↑__ done __________|

One queue has one request on its way at a time, so its sequence numbers arrive in order and a batch that fails can be
answered for alone; what is put meanwhile gathers in the next batch.  A queue carries one transaction or none (CL-06),
and a batch either records with a time of delivery or records without.  A record with an idempotency key is a batch of
its own.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from redis_ledger.client.deliveries import Delivery
from redis_ledger.client.models import RecordPosition
from redis_ledger.errors import LedgerError, OutcomeUnknown

RECORDS_MAX = 10_000  # of one batch; the broker takes no more
RECORD_OVERHEAD = 24  # bytes a record may need beside its key, value and headers


class Settable(Protocol):
    def set(self) -> None: ...


EventT = TypeVar("EventT", bound=Settable)
SendResult: TypeAlias = "int | Sequence[RecordPosition] | LedgerError"


class Entry(NamedTuple):
    """A record in the form the codec takes it.  delivery: when, if not at once.  partition: as the caller gave it, for
    the request of a record with an idempotency key, which holds what the caller gave and nothing else."""

    key: bytes | None
    value: bytes | None
    headers: Any
    timestamp_ms: int
    delivery: Delivery | None = None
    idempotency_key: str | None = None
    partition: int | None = None

    @property
    def size(self) -> int:
        headers = sum(len(name) + len(held or b"") + 8 for name, held in self.headers) if self.headers else 0
        return len(self.key or b"") + len(self.value or b"") + headers + RECORD_OVERHEAD


class BatchingOptions(NamedTuple):
    """How a producer batches.  compression: its number in records.batch.COMPRESSIONS."""

    linger_s: float
    batch_bytes: int
    compression: int = 0


class Batch(Generic[EventT]):
    """settled: set once `outcome` is there: the base offset, where each record went, or the error that all share.
    is_delayed: its records are to be delivered at a time.  is_in_doubt: an answer was lost, so it may be written.
    is_raised: a caller has got its error."""

    __slots__ = (
        "compression", "due_s", "entries", "is_delayed", "is_full", "is_in_doubt", "is_raised", "outcome", "partition",
        "settled", "size",
    )  # fmt: skip

    def __init__(self, partition: int, settled: EventT, due_s: float, compression: int, is_delayed: bool) -> None:
        self.partition = partition
        self.settled = settled
        self.due_s = due_s
        self.compression = compression
        self.is_delayed = is_delayed
        self.entries: list[Entry] = []
        self.size = 0
        self.is_full = False
        self.is_in_doubt = False
        self.is_raised = False
        self.outcome: SendResult | None = None

    def add(self, entry: Entry, size: int) -> int:
        """The place of the entry in the batch."""
        self.entries.append(entry)
        self.size += size
        return len(self.entries) - 1

    def settle(self, outcome: SendResult) -> None:
        self.outcome = outcome
        self.settled.set()

    def doubt(self) -> None:
        """An answer was lost."""
        self.is_in_doubt = True

    def failure(self, error: LedgerError) -> LedgerError:
        """What the error says about the batch: a refusal says nothing about an earlier attempt whose answer was
        lost."""
        if not self.is_in_doubt or isinstance(error, OutcomeUnknown):
            return error
        return OutcomeUnknown(
            "The records were sent, the answer was lost, and the repetition was refused: they may or may not be "
            f"written. ({error.detail})"
        )

    def position(self, index: int) -> RecordPosition:
        """Where the index-th record went.  Raises what the batch failed with."""
        assert self.outcome is not None, "asked before the batch was settled"
        if isinstance(self.outcome, LedgerError):
            self.is_raised = True
            raise self.outcome
        if isinstance(self.outcome, int):
            return RecordPosition(self.partition, -1 if self.outcome < 0 else self.outcome + index)
        return self.outcome[index]


class PartitionQueue(Generic[EventT]):
    """txn: the transaction of all its records, or None.  producer: id and epoch, once there is one.  sequence: of the
    next record."""

    __slots__ = ("batches", "is_busy", "is_ready", "partition", "producer", "sequence", "topic", "txn")

    def __init__(self, topic: str, partition: int, txn: Any) -> None:
        self.topic = topic
        self.partition = partition
        self.txn = txn
        self.batches: deque[Batch[EventT]] = deque()
        self.is_busy = False
        self.is_ready = False
        self.producer: tuple[int, int] | None = None
        self.sequence = 0

    @property
    def is_idle(self) -> bool:
        return not self.batches and not self.is_busy

    def has_room(self, entry: Entry, batch_bytes: int) -> bool:
        """Whether the entry may join the newest batch."""
        batch = self.batches[-1]
        fits = batch.size + entry.size <= batch_bytes and batch.is_delayed is (entry.delivery is not None)
        return fits and entry.idempotency_key is None and not batch.is_full


class Accumulator(Generic[EventT]):
    """new_event: makes the thing that waiters for a batch wait on."""

    def __init__(self, new_event: Callable[[], EventT]) -> None:
        self._new_event = new_event
        self._queues: dict[tuple[str, int, Any], PartitionQueue[EventT]] = {}
        self._ready: deque[PartitionQueue[EventT]] = deque()
        self._lingering: list[tuple[float, int, PartitionQueue[EventT]]] = []
        self._pushed = 0
        self.bytes_waiting = 0

    def put(
        self, topic: str, partition: int, txn: Any, entry: Entry, now_s: float, batching: BatchingOptions
    ) -> tuple[Batch[EventT], int]:
        """The batch that the record joined, and its place there."""
        queue = self._queue(topic, partition, txn)
        size = entry.size
        batch = queue.batches[-1] if queue.batches else None
        if batch is not None and not queue.has_room(entry, batching.batch_bytes):
            batch.is_full = True
            self._wake(queue)
            batch = None
        if batch is None:
            is_delayed = entry.delivery is not None
            batch = Batch(partition, self._new_event(), now_s + batching.linger_s, batching.compression, is_delayed)
            queue.batches.append(batch)
            self._pushed += 1
            heapq.heappush(self._lingering, (batch.due_s, self._pushed, queue))
        index = batch.add(entry, size)
        self.bytes_waiting += size
        if batch.size >= batching.batch_bytes or len(batch.entries) >= RECORDS_MAX or entry.idempotency_key is not None:
            batch.is_full = True
            self._wake(queue)
        return batch, index

    def put_batch(self, topic: str, txn: Any, batch: Batch[EventT]) -> None:
        """Adds a batch that was filled elsewhere, ready to be sent."""
        queue = self._queue(topic, batch.partition, txn)
        batch.is_full = True
        queue.batches.append(batch)
        self.bytes_waiting += batch.size
        self._wake(queue)

    def take(self, now_s: float) -> tuple[PartitionQueue[EventT], Batch[EventT]] | float | None:
        """A queue, busy from now on, and the batch to send; else the time at which there will be one; else None."""
        while self._lingering and self._lingering[0][0] <= now_s:
            queue = heapq.heappop(self._lingering)[2]
            if queue.batches and queue.batches[0].due_s <= now_s:
                self._wake(queue)
        while self._ready:
            queue = self._ready.popleft()
            queue.is_ready = False
            if queue.batches and not queue.is_busy:
                queue.is_busy = True
                batch = queue.batches.popleft()
                self.bytes_waiting -= batch.size
                return queue, batch
        return self._lingering[0][0] if self._lingering else None

    def done(self, queue: PartitionQueue[EventT], now_s: float) -> None:
        """The request of this queue has been answered, or never will be."""
        queue.is_busy = False
        if queue.batches and (queue.batches[0].is_full or queue.batches[0].due_s <= now_s):
            self._wake(queue)

    def hurry(self, txn: Any = ...) -> None:
        """What waits is due now: of one transaction, or of every queue when none is named."""
        for queue in self._of(txn):
            for batch in queue.batches:
                batch.due_s = 0.0
            self._wake(queue)

    def drop(self, txn: Any) -> list[Batch[EventT]]:
        """Takes back what this transaction has not sent yet."""
        dropped: list[Batch[EventT]] = []
        for queue in self._of(txn):
            dropped.extend(queue.batches)
            queue.batches.clear()
        self.bytes_waiting -= sum(batch.size for batch in dropped)
        return dropped

    def forget(self, txn: Any) -> None:
        for queue in list(self._of(txn)):
            del self._queues[queue.topic, queue.partition, queue.txn]

    def is_idle(self, txn: Any = ...) -> bool:
        return all(queue.is_idle for queue in self._of(txn))

    @property
    def has_ready(self) -> bool:
        return bool(self._ready)

    def _queue(self, topic: str, partition: int, txn: Any) -> PartitionQueue[EventT]:
        queue = self._queues.get((topic, partition, txn))
        if queue is None:
            queue = self._queues[topic, partition, txn] = PartitionQueue(topic, partition, txn)
        return queue

    def _of(self, txn: Any) -> Iterator[PartitionQueue[EventT]]:
        return (queue for queue in self._queues.values() if txn is ... or queue.txn is txn)

    def _wake(self, queue: PartitionQueue[EventT]) -> None:
        if not queue.is_ready and not queue.is_busy and queue.batches:
            queue.is_ready = True
            self._ready.append(queue)
