"""One attempt of a task, and what the driver does with all of them: the sink without Spark."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from redis_ledger.client._sync.admin import Subscriptions, Topics, Transactions
from redis_ledger.client._sync.transport import BATCH, Transport, path
from redis_ledger.client.bodies import contents_body
from redis_ledger.errors import LedgerError, ProducerFenced
from redis_ledger.ids import TxnId
from redis_ledger.spark.accumulator import Accumulator, ReadyBatch, Row
from redis_ledger.spark.offset_options import Offsets
from redis_ledger.spark.plain_http import transport
from redis_ledger.spark.write_options import Writing

if TYPE_CHECKING:
    import pyarrow as pa

    from redis_ledger.spark.arrow_accumulator import ArrowAccumulator, Pile

SENDS_AT_ONCE = 4  # of one process; a partition has one on its way
LEFT_MAX = 10_000  # transactions looked at, of those that are left open


class Step(NamedTuple):
    """name: of the query or job.  number: of the batch; None: it is not counted."""

    name: str
    number: int | None

    @property
    def owner(self) -> str:
        """How the owner of every transaction under this name begins."""
        return f"{self.name[:900]} batch "

    def is_behind(self, owner: str) -> bool:
        """Whether this owner of a transaction does a later step than this."""
        number = owner.removeprefix(self.owner).partition(" ")[0]
        return self.number is not None and number.isdecimal() and int(number) > self.number

    def owner_of(self, task: str) -> str:
        return f"{self.owner}{'-' if self.number is None else self.number} task {task}"


class Attempt:
    """Begins with the first row.  Left by an exception, it aborts: nobody will ever ask for its commit."""

    def __init__(self, wanted: Writing, step: Step, place: int, task: str) -> None:
        """place: the number of the task among its like.  task: its name, with that of the attempt."""
        self._transport: Transport = transport(wanted.connection.from_broker(place))
        self._transactions = Transactions(self._transport)
        self._wanted, self._step, self._task = wanted, step, task
        self._gathering = wanted.topic, _topics(self._transport).partition_count, wanted.batch_bytes, place
        self._lanes = Accumulator(*self._gathering)
        self._under_way: dict[tuple[str, int], Future[None]] = {}
        self._id: TxnId | None = None
        self.records = 0

    @property
    def txn(self) -> str | None:
        return None if self._id is None else str(self._id)

    def __enter__(self) -> Attempt:
        return self

    def put(self, row: Row) -> None:
        self.records += 1
        for parcel in self._lanes.put(row):
            self._send(parcel)

    def put_all(self, batch: pa.RecordBatch) -> None:
        """Rows without a time of delivery, much faster; an attempt is given its rows in one way or the other."""
        self.records += batch.num_rows
        for pile in self._piles.put(batch):
            self._send(pile)

    def finish(self) -> None:
        """Everything is written when this returns."""
        for parcel in self._lanes.rest():
            self._send(parcel)
        if "_piles" in vars(self):
            for pile in self._piles.rest():
                self._send(pile)
        for sent in self._under_way.values():
            sent.result()

    @functools.cached_property
    def _piles(self) -> ArrowAccumulator:
        from redis_ledger.spark.arrow_accumulator import ArrowAccumulator

        return ArrowAccumulator(*self._gathering)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            _topics.cache_clear()  # the next attempt asks how many partitions there are, lest it fails for that too
        if kind is None or self._id is None:
            return
        for sent in self._under_way.values():
            sent.exception()  # what is on its way must not arrive behind the abort
        with contextlib.suppress(LedgerError):  # then its timeout does it, and the error that is told is the first
            self._transactions.abort(self._id)

    def _send(self, parcel: ReadyBatch | Pile) -> None:
        if self._id is None:
            begun = self._transactions.begin(
                self._wanted.transaction_timeout_ms,
                owner=self._step.owner_of(self._task),
                together=self._step.name,
            )
            self._id = TxnId.parse(begun.id)
        place = parcel.topic, parcel.partition
        before = self._under_way.get(place)
        if before is not None:
            before.result()  # sequences arrive in order
        self._under_way[place] = _threads().submit(_post, self._transport, self._wanted, self._id, parcel)


def _post(sent: Transport, wanted: Writing, txn: TxnId, parcel: ReadyBatch | Pile) -> None:
    """Repeated when its answer is lost: the sequence makes that harmless."""
    if isinstance(parcel, ReadyBatch) and parcel.is_delayed:
        sent.call("POST", path("topics", parcel.topic, "records"), _delayed_body(txn, parcel), answer=object)
        return
    data = parcel.batch(wanted.compression, txn)
    params: dict[str, str | int] = {"partition": parcel.partition, "transaction": str(txn)}
    sent.send("POST", path("topics", parcel.topic, "records"), data, headers={"content-type": BATCH}, params=params)


def _delayed_body(txn: TxnId, parcel: ReadyBatch) -> dict[str, Any]:
    records = []
    for entry in parcel.entries:
        assert entry.delivery is not None, "a parcel with times of delivery holds a record without"
        contents = contents_body(entry.key, entry.value, entry.headers)
        records.append({**contents, **entry.delivery.members(), "timestamp_ms": entry.timestamp_ms})
    return {
        "partition": parcel.partition, "transaction": str(txn), "producer_id": txn.producer_id, "epoch": 0,
        "sequence": parcel.sequence, "records": records,
    }  # fmt: skip


def commit(wanted: Writing, step: Step, txns: Sequence[str], read: Offsets | None = None) -> bool:
    """Whether these were committed: now, or by an earlier call whose answer was lost.  False: somebody else did this
    step.  Then, as in any case, what the name has open still is aborted.  Raises what a commit raises.
    read: how far the step's sources were read; acknowledged by the same decision."""
    transactions = Transactions(transport(wanted.connection))
    is_committed = True
    if read and wanted.subscription is not None:
        txns = [*txns, _acknowledged(wanted, step, wanted.subscription, read)]
    if txns or step.number is not None:
        once = None if step.number is None else (step.name, step.number)
        is_committed = transactions.commit_all(txns, once).status != "already"
    abort_rest(wanted, step)
    return is_committed


def _acknowledged(wanted: Writing, step: Step, subscription: str, read: Offsets) -> str:
    """A transaction that notes what was read."""
    sent = transport(wanted.connection)
    txn = Transactions(sent).begin(wanted.transaction_timeout_ms, owner=step.owner_of("read"), together=step.name).id
    by_topic: dict[str, dict[int, int]] = {}
    for partition, offset in read.items():
        by_topic.setdefault(partition.topic, {})[partition.partition] = offset
    for topic, offsets in by_topic.items():
        Subscriptions(sent).note_offsets(topic, subscription, offsets, txn)
    return txn


def check_not_fenced(wanted: Writing, step: Step) -> None:
    """Of a step that somebody else did.  Raises ProducerFenced when steps behind it were done too: then it was not done
    by a driver that died here, for whoever does a step again does the last one."""
    done = Transactions(transport(wanted.connection)).once(step.name)
    if done is not None and step.number is not None and done > step.number:
        raise ProducerFenced(
            f"Batch {step.number} of {step.name!r} was not written: those up to {done} are there already. Either "
            "another driver uses this checkpoint, then leave the stream to it; or this is an old copy of a checkpoint, "
            "then begin with a new one and startingOffsets."
        )


def abort_rest(wanted: Writing, step: Step) -> None:
    """Attempts that failed, were overtaken, or belong to a driver that died.  What cannot be aborted now times out.
    Steps behind this one are left alone: who comes back after it was overtaken must not disturb its successor."""
    transactions = Transactions(transport(wanted.connection))
    with contextlib.suppress(LedgerError):
        for left in transactions.list("open", owner=step.owner, limit=LEFT_MAX):
            if step.is_behind(left.owner):
                continue
            with contextlib.suppress(LedgerError):
                transactions.abort(left.id)


@functools.cache
def _topics(sent: Transport) -> Topics:
    """One for each connection and process: it remembers for a minute how many partitions a topic has."""
    return Topics(sent)


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(SENDS_AT_ONCE, thread_name_prefix="redis-ledger-send")
