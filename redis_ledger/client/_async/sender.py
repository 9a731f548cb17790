"""Sender: a few workers take ready batches from the accumulator, send them, and set their results.

A batch is one RecordBatch v2 with a producer id and a sequence number, so that a retry after a lost response writes
nothing twice.  Records with a delivery time are sent as JSON with the same numbers.  A transaction has its own producer
id.  If it is unknown whether a batch was written, its queue continues with a new producer id, so that its sequence
number is not reused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, TypeAlias

from redis_ledger.client import answers, arguments, batches
from redis_ledger.client._async.transport import BATCH, AsyncTransport, path
from redis_ledger.client.batches import Accumulator, BatchingOptions, Entry, SendResult
from redis_ledger.client.bodies import ProducedBody, ProducerBody, places_of, record_body
from redis_ledger.client.concurrency import (
    AsyncCondition,
    AsyncEvent,
    AsyncMutex,
    AsyncResult,
    AsyncWorker,
    async_sleep,
)
from redis_ledger.client.deliveries import positions
from redis_ledger.client.models import RecordPosition, ScheduledPosition
from redis_ledger.errors import (
    ClientClosed,
    DuplicateSequence,
    LedgerError,
    OutcomeUnknown,
    ProducerError,
    TransactionEnded,
    UnknownProducer,
)
from redis_ledger.ids import ScheduledId
from redis_ledger.records.batch import SEQUENCES

AsyncBatch: TypeAlias = "batches.Batch[AsyncEvent]"
AsyncLane: TypeAlias = "batches.PartitionQueue[AsyncEvent]"

IDLE_S_MAX = 60.0  # a worker without work looks around this often
YIELD_S = 0.001  # how long one caller may go on before the workers have a turn
NO_ID = (-1, -1)
FAILED_MAX = 100  # failed batches that are remembered until a caller has got their errors


class AsyncSending(AsyncResult[RecordPosition]):
    """A record on its way.  Its result is where it went, or the error that kept it from getting there.

    hurry: sends a record that waits for the commit of its transaction, for a caller that waits for the result."""

    __slots__ = ("_batch", "_hurry", "_hurrying", "_index")

    def __init__(self, batch: AsyncBatch, index: int, hurry: Callable[[], Any] | None = None) -> None:
        self._batch = batch
        self._index = index
        self._hurry = hurry
        self._hurrying: AsyncWorker | None = None

    async def result(self, timeout_ms: int | None = None) -> RecordPosition:
        """Waits until the broker has answered, or for at most timeout_ms.

        Raises OutcomeUnknown when the time is up: the record may still be written, and `result` may be called again.
        Raises ClientClosed in a process that was forked since.
        """
        if timeout_ms is not None:
            arguments.check(timeout_ms=timeout_ms)
        if self._hurry is not None and not self._batch.settled.is_set():
            await self._hurry()
        if not await self._batch.settled.wait(None if timeout_ms is None else timeout_ms / 1000):
            raise OutcomeUnknown(f"The record is still on its way after {timeout_ms} ms; call result() again.")
        return self._batch.position(self._index)

    def is_done(self) -> bool:
        is_done = self._batch.settled.is_set()
        if self._hurry is not None and self._hurrying is None and not is_done:
            self._hurrying = AsyncWorker(self._hurry, "redis-ledger begin")
        return is_done


class AsyncSender:
    """in_flight_max: requests on their way at once.  buffer_bytes: what may wait before `put` makes its caller wait.
    on_failure: called for every batch that failed, with its topic, its transaction and the error."""

    def __init__(
        self,
        transport: AsyncTransport,
        *,
        in_flight_max: int,
        buffer_bytes: int,
        on_failure: Callable[[str, Any, LedgerError], None],
    ) -> None:
        self._transport = transport
        self._in_flight_max = in_flight_max
        self._buffer_bytes = buffer_bytes
        self.on_failure = on_failure
        self._accumulator: Accumulator[AsyncEvent] = Accumulator(AsyncEvent)
        self._mutex = AsyncMutex()
        self._work = AsyncCondition(self._mutex)
        self._settled = AsyncCondition(self._mutex)
        self._workers: list[AsyncWorker] = []
        self._resting = 0
        self._is_closing = False
        self._failed: list[AsyncBatch] = []
        self._yielded_s = 0.0

    async def put(self, topic: str, partition: int, txn: Any, entry: Entry, batching: BatchingOptions) -> AsyncSending:
        with self._mutex:
            while self._accumulator.bytes_waiting >= self._buffer_bytes and not self._is_closing:
                self._hurry()
                await self._settled.wait()
            self.check_open()
            now_s = monotonic()
            batch, index = self._accumulator.put(topic, partition, txn, entry, now_s, batching)
            if index == 0 or batch.is_full:
                self._call_a_worker()
        await self.take_turns(now_s)
        return AsyncSending(batch, index)

    async def take_turns(self, now_s: float) -> None:
        """A caller that sends in a loop and waits for nothing else would keep others from their work."""
        if now_s - self._yielded_s > YIELD_S:
            self._yielded_s = now_s
            await async_sleep(0)

    def put_batch(self, topic: str, txn: Any, batch: AsyncBatch) -> None:
        """Sends a batch that was filled elsewhere.  If the sender is closed, the batch fails."""
        try:
            with self._mutex:
                self.check_open()
                self._accumulator.put_batch(topic, txn, batch)
                self._call_a_worker()
        except ClientClosed as closed:
            batch.settle(closed)
            self.on_failure(topic, txn, closed)

    def check_open(self) -> None:
        """Raises ClientClosed."""
        if self._is_closing:
            raise ClientClosed("The producer is closed; make a new one from an open client.")
        self._transport.check_open()

    async def flush(self, txn: Any = ...) -> None:
        """Sends what waits and returns when it is answered, of one transaction or of all.  Without a transaction it
        raises the first error since the last flush that no `result()` has raised: no record fails unnoticed, and no
        error is raised twice."""
        with self._mutex:
            while not self._accumulator.is_idle(txn):
                self._hurry(txn)
                await self._settled.wait()
            if txn is not ...:
                return
            failed, self._failed = [batch for batch in self._failed if not batch.is_raised], []
        if failed and isinstance(failed[0].outcome, LedgerError):
            raise failed[0].outcome

    async def drop(self, txn: Any) -> None:
        """Fails what the transaction has not sent yet, and waits for what is on its way."""
        with self._mutex:
            for batch in self._accumulator.drop(txn):
                batch.settle(TransactionEnded(f"Transaction {txn} was aborted before this record was sent."))
            while not self._accumulator.is_idle(txn):
                await self._settled.wait()
            self._accumulator.forget(txn)
            self._settled.notify_all()

    def forget(self, txn: Any) -> None:
        with self._mutex:
            self._accumulator.forget(txn)

    async def close(self) -> None:
        """Sends what waits, then stops.  Raises as `flush` does."""
        try:
            await self.flush()
        finally:
            with self._mutex:
                self._is_closing = True
                for batch in self._accumulator.drop(...):  # after a flush that was interrupted
                    batch.settle(ClientClosed("The producer was closed before this record was sent."))
                self._work.notify_all()
                self._settled.notify_all()
                workers, self._workers = self._workers, []
            for worker in workers:
                await worker.join()

    def _hurry(self, txn: Any = ...) -> None:
        self._accumulator.hurry(txn)
        if self._accumulator.has_ready:
            self._call_a_worker()

    def _call_a_worker(self) -> None:
        if self._resting:
            self._work.notify()
        elif len(self._workers) < self._in_flight_max:
            self._workers.append(AsyncWorker(self._run, "redis-ledger sender"))

    async def _run(self) -> None:
        while True:
            with self._mutex:
                found = self._accumulator.take(monotonic())
                while not isinstance(found, tuple):
                    if self._is_closing:
                        return
                    self._resting += 1
                    rest_s = IDLE_S_MAX if found is None else min(found - monotonic(), IDLE_S_MAX)
                    await self._work.wait(max(rest_s, 0.0))
                    self._resting -= 1
                    found = self._accumulator.take(monotonic())
                if self._accumulator.has_ready:
                    self._call_a_worker()
            await self._deliver(*found)

    async def _deliver(self, queue: AsyncLane, batch: AsyncBatch) -> None:
        # What stands when the worker itself is stopped in the middle.
        outcome: SendResult = OutcomeUnknown("The client stopped while the record was on its way.")
        try:
            outcome = await self.send(queue, batch)
        except LedgerError as error:
            outcome = error
        finally:
            self._settle(queue, batch, outcome)

    async def send(self, queue: AsyncLane, batch: AsyncBatch) -> SendResult:
        """The base offset, or where each record went.  Raises OutcomeUnknown if the batch may be written."""
        try:
            return await self._send(queue, batch)
        except DuplicateSequence:
            return -1
        except LedgerError as error:
            failure = batch.failure(error)
            if failure is error:
                raise
            raise failure from error

    async def _send(self, queue: AsyncLane, batch: AsyncBatch) -> SendResult:
        if batch.entries[0].idempotency_key is not None:
            return await self._send_keyed(queue, batch.entries[0])
        try:
            return await self._send_once(queue, batch)
        except UnknownProducer:
            if queue.txn is not None or not queue.sequence or batch.is_in_doubt:
                raise
            # Redis has lost the producer's batches.  The broker says so before it writes anything, but an earlier
            # attempt whose answer was lost may have written the batch: a new id would write it twice.
            queue.producer = None
            return await self._send_once(queue, batch)

    async def _send_once(self, queue: AsyncLane, batch: AsyncBatch) -> SendResult:
        params: dict[str, str | int] = {"partition": queue.partition}
        if queue.txn is not None:
            params["transaction"] = str(queue.txn)
            # A transaction taken up from elsewhere may have used any sequence number already.
            producer = queue.txn.producer
        else:
            if queue.producer is None:
                found = await self._transport.call("POST", path("producers"), {}, answer=ProducerBody)
                queue.producer, queue.sequence = (found.producer_id, found.epoch), 0
            producer = queue.producer
        if batch.is_delayed:
            return await self._send_delayed(queue, batch, producer)
        # Loads all of aiokafka, which a program that only reads or administers does without.
        from redis_ledger.records.build import encode

        producer_id, epoch = producer or NO_ID
        now_ms = time.time_ns() // 1_000_000
        data = encode(
            [
                (entry.key, entry.value, entry.headers, now_ms if entry.timestamp_ms < 0 else entry.timestamp_ms)
                for entry in batch.entries
            ],
            compression=batch.compression,
            producer_id=producer_id,
            epoch=epoch,
            sequence=queue.sequence if producer else -1,
            transactional=queue.txn is not None,
        )
        where = path("topics", queue.topic, "records")
        response = await self._transport.send(
            "POST",
            where,
            data,
            headers={"content-type": BATCH},
            params=params,
            repeatable=producer is not None,
            on_lost=batch.doubt,
        )
        return answers.decode("POST", where, response, ProducedBody).results[0].base_offset

    async def _send_keyed(self, queue: AsyncLane, entry: Entry) -> SendResult:
        body: dict[str, Any] = {"records": [record_body(entry)]}
        if entry.partition is not None:
            body["partition"] = entry.partition
        answer = await self._transport.call(
            "POST",
            path("topics", queue.topic, "records"),
            body,
            answer=ProducedBody,
            idempotency_key=entry.idempotency_key or False,
        )
        result = answer.results[0]
        placed = [ScheduledPosition(ScheduledId.parse(each.id), each.deliver_at_ms) for each in result.scheduled]
        return placed or [RecordPosition(result.partition, result.base_offset)]

    async def _send_delayed(
        self, queue: AsyncLane, batch: AsyncBatch, producer: tuple[int, int] | None
    ) -> Sequence[RecordPosition]:
        body: dict[str, Any] = {"partition": queue.partition, "records": []}
        if queue.txn is not None:
            body["transaction"] = str(queue.txn)
        if producer is not None:
            body.update(producer_id=producer[0], epoch=producer[1], sequence=queue.sequence)
        deliveries = []
        for entry in batch.entries:
            assert entry.delivery is not None, "a batch with times of delivery holds a record without"
            deliveries.append(entry.delivery)
            body["records"].append(record_body(entry))
        answer = await self._transport.call(
            "POST",
            path("topics", queue.topic, "records"),
            body,
            answer=ProducedBody,
            repeatable=producer is not None,
            on_lost=batch.doubt,
        )
        return positions(queue.partition, deliveries, *places_of(answer.results))

    def _settle(self, queue: AsyncLane, batch: AsyncBatch, outcome: SendResult) -> None:
        with self._mutex:
            if isinstance(outcome, LedgerError):
                if queue.txn is None:  # a transaction keeps its own failure, and raises it at commit
                    self._failed = [*(each for each in self._failed if not each.is_raised), batch][:FAILED_MAX]
                # A refused batch leaves its sequence numbers free; after these two errors that is unknown.
                if isinstance(outcome, (OutcomeUnknown, ProducerError)):
                    queue.producer = None
            elif batch.entries[0].idempotency_key is None:
                queue.sequence = (queue.sequence + len(batch.entries)) % SEQUENCES
            batch.entries = []
            batch.settle(outcome)
            self._accumulator.done(queue, monotonic())
            self._settled.notify_all()
        if isinstance(outcome, LedgerError):
            self.on_failure(queue.topic, queue.txn, outcome)
