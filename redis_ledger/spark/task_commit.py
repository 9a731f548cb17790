"""Task attempts and their commit by the driver: the sink without Spark."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from redis_ledger.client._sync.admin import Topics, Transactions
from redis_ledger.client._sync.subscriptions import Subscriptions
from redis_ledger.client._sync.transport import BATCH, Transport, path
from redis_ledger.client.bodies import contents_body
from redis_ledger.errors import LedgerError, ProducerFenced
from redis_ledger.ids import TxnId
from redis_ledger.spark.accumulator import Accumulator, ReadyBatch, Row
from redis_ledger.spark.offset_options import Offsets
from redis_ledger.spark.plain_http import transport
from redis_ledger.spark.write_options import WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from redis_ledger.spark.arrow_accumulator import ArrowAccumulator, ArrowBatch

SENDS_AT_ONCE = 4  # per process; a partition has one in flight
LEFT_MAX = 10_000  # open transactions to look at, at most


class Step(NamedTuple):
    """name: of the query or job.  number: of the batch; None: steps are not counted."""

    name: str
    number: int | None

    @property
    def owner(self) -> str:
        """Prefix of the owner of every transaction under this name."""
        return f"{self.name[:900]} batch "

    def is_behind(self, owner: str) -> bool:
        """Whether this transaction owner does a later step."""
        number = owner.removeprefix(self.owner).partition(" ")[0]
        return self.number is not None and number.isdecimal() and int(number) > self.number

    def owner_of(self, task: str) -> str:
        return f"{self.owner}{'-' if self.number is None else self.number} task {task}"


class TaskAttempt:
    """Begins a transaction with the first row.  Aborts it on an exception, since it will not be committed."""

    def __init__(self, wanted: WriteOptions, step: Step, index: int, task: str) -> None:
        """index: the index of the task.  task: its name, including the attempt."""
        self._transport: Transport = transport(wanted.connection.from_broker(index))
        self._transactions = Transactions(self._transport)
        self._wanted, self._step, self._task = wanted, step, task
        self._gathering = wanted.topic, _topics(self._transport).partition_count, wanted.batch_bytes, index
        self._rows = Accumulator(*self._gathering)
        self._under_way: dict[tuple[str, int], Future[None]] = {}
        self._id: TxnId | None = None
        self.records = 0

    @property
    def txn(self) -> str | None:
        return None if self._id is None else str(self._id)

    def __enter__(self) -> TaskAttempt:
        return self

    def put(self, row: Row) -> None:
        self.records += 1
        for batch in self._rows.put(row):
            self._send(batch)

    def put_all(self, batch: pa.RecordBatch) -> None:
        """Writes rows that are not scheduled, much faster; an attempt uses either `put` or `put_all`."""
        self.records += batch.num_rows
        for full in self._arrow.put(batch):
            self._send(full)

    def finish(self) -> None:
        """Returns when everything is written."""
        for rest in self._rows.drain():
            self._send(rest)
        if "_arrow" in vars(self):
            for arrow_rest in self._arrow.drain():
                self._send(arrow_rest)
        for sent in self._under_way.values():
            sent.result()

    @functools.cached_property
    def _arrow(self) -> ArrowAccumulator:
        from redis_ledger.spark.arrow_accumulator import ArrowAccumulator

        return ArrowAccumulator(*self._gathering)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            _topics.cache_clear()  # the next attempt reads partition counts again: a stale count may be the cause
        if kind is None or self._id is None:
            return
        for sent in self._under_way.values():
            sent.exception()  # a request in flight must not arrive after the abort
        with contextlib.suppress(LedgerError):  # the transaction timeout aborts it then; the first error is raised
            self._transactions.abort(self._id)

    def _send(self, batch: ReadyBatch | ArrowBatch) -> None:
        if self._id is None:
            begun = self._transactions.begin(
                self._wanted.transaction_timeout_ms,
                owner=self._step.owner_of(self._task),
                together=self._step.name,
            )
            self._id = TxnId.parse(begun.id)
        index = batch.topic, batch.partition
        before = self._under_way.get(index)
        if before is not None:
            before.result()  # sequences must arrive in order
        self._under_way[index] = _threads().submit(_post, self._transport, self._wanted, self._id, batch)


def _post(sent: Transport, wanted: WriteOptions, txn: TxnId, batch: ReadyBatch | ArrowBatch) -> None:
    """Repeats a request whose response was lost; the sequence deduplicates it."""
    if isinstance(batch, ReadyBatch) and batch.is_delayed:
        sent.call("POST", path("topics", batch.topic, "records"), _delayed_body(txn, batch), answer=object)
        return
    data = batch.batch(wanted.compression, txn)
    params: dict[str, str | int] = {"partition": batch.partition, "transaction": str(txn)}
    sent.send("POST", path("topics", batch.topic, "records"), data, headers={"content-type": BATCH}, params=params)


def _delayed_body(txn: TxnId, batch: ReadyBatch) -> dict[str, Any]:
    records = []
    for entry in batch.entries:
        assert entry.delivery is not None, "a batch of scheduled records has a record without a delivery"
        contents = contents_body(entry.key, entry.value, entry.headers)
        records.append({**contents, **entry.delivery.members(), "timestamp_ms": entry.timestamp_ms})
    return {
        "partition": batch.partition, "transaction": str(txn), "producer_id": txn.producer_id, "epoch": 0,
        "sequence": batch.sequence, "records": records,
    }  # fmt: skip


def commit(wanted: WriteOptions, step: Step, txns: Sequence[str], read: Offsets | None = None) -> bool:
    """Returns whether these are committed: now, or by an earlier call whose response was lost.  False: another driver
    committed this step.

    Aborts the other open transactions of the name in any case.  Raises the errors of a commit.
    read: end offsets of the step's sources; acknowledged in the same commit.
    """
    transactions = Transactions(transport(wanted.connection))
    is_committed = True
    if read and wanted.subscription is not None:
        txns = [*txns, _begin_acknowledgement(wanted, step, wanted.subscription, read)]
    if txns or step.number is not None:
        once = None if step.number is None else (step.name, step.number)
        is_committed = transactions.commit_all(txns, once).status != "already"
    abort_open_transactions(wanted, step)
    return is_committed


def _begin_acknowledgement(wanted: WriteOptions, step: Step, subscription: str, read: Offsets) -> str:
    """Returns a transaction that acknowledges what was read."""
    sent = transport(wanted.connection)
    txn = Transactions(sent).begin(wanted.transaction_timeout_ms, owner=step.owner_of("read"), together=step.name).id
    by_topic: dict[str, dict[int, int]] = {}
    for partition, offset in read.items():
        by_topic.setdefault(partition.topic, {})[partition.partition] = offset
    for topic, offsets in by_topic.items():
        Subscriptions(sent).note_offsets(topic, subscription, offsets, txn)
    return txn


def check_not_fenced(wanted: WriteOptions, step: Step) -> None:
    """After another driver committed the step: raises ProducerFenced if later steps are committed as well.

    A driver that repeats a step after a crash repeats the last one.
    """
    done = Transactions(transport(wanted.connection)).once(step.name)
    if done is not None and step.number is not None and done > step.number:
        raise ProducerFenced(
            f"Batch {step.number} of {step.name!r} was not written: batches up to {done} are committed. Either another "
            "driver uses this checkpoint: then stop this one. Or this checkpoint is an old copy: then start with a new "
            "checkpoint and startingOffsets."
        )


def abort_open_transactions(wanted: WriteOptions, step: Step) -> None:
    """Aborts failed and duplicate attempts, and those of dead drivers.  The others time out.

    Later steps are left alone: a driver that was replaced must not disturb its successor.
    """
    transactions = Transactions(transport(wanted.connection))
    with contextlib.suppress(LedgerError):
        for left in transactions.list("open", owner=step.owner, limit=LEFT_MAX):
            if step.is_behind(left.owner):
                continue
            with contextlib.suppress(LedgerError):
                transactions.abort(left.id)


@functools.cache
def _topics(sent: Transport) -> Topics:
    """One for each connection and process; caches for a minute how many partitions a topic has."""
    return Topics(sent)


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(SENDS_AT_ONCE, thread_name_prefix="redis-ledger-send")
