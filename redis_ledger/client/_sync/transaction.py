"""Transaction: sends and acknowledgements that take effect together or not at all.

    with client.transaction() as txn:
        txn.send("invoices", {...})        ┐ in any number, on any topics and subscriptions;
        txn.ack(consumer, message)         ┘ a failed operation makes the transaction abort-only
                                                 normal exit: flush, commit; exception: drop, abort, reraise

It begins with the first operation that needs it.  While it has only sent records that fit one batch of one partition,
they wait, and the commit appends them without a transaction: `deferred.py`.  `states.py` has the state machine.  The
broker aborts a transaction at its deadline; past it, by the client's own clock, operations fail without a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from time import monotonic
from types import TracebackType
from typing import Any, Protocol

from redis_ledger.client._sync.admin import Transactions
from redis_ledger.client._sync.deferred import DeferredRecords
from redis_ledger.client._sync.leases import Leases
from redis_ledger.client._sync.sender import Sender, Sending
from redis_ledger.client.batches import BatchingOptions, Entry
from redis_ledger.client.concurrency import Condition, Mutex
from redis_ledger.client.deliveries import Moment, Span
from redis_ledger.client.models import Headers
from redis_ledger.client.sources import Source, where
from redis_ledger.client.states import TxnEvent, TxnState, after
from redis_ledger.client.values import id_of, ids_of
from redis_ledger.errors import (
    AlreadyAborted,
    LedgerError,
    NotFound,
    TransactionAbortOnly,
    TransactionEnded,
    TransactionError,
    TransactionsDisabled,
    TransactionTimedOut,
    Unavailable,
)
from redis_ledger.ids import TxnId

TIMEOUT_MS = 60_000


class TopicProducer(Protocol):
    """A producer, as a transaction sends with it."""

    def send(
        self,
        value: Any,
        *,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        deliver_at: Moment | None = None,
        deliver_after: Span | None = None,
        txn: Transaction | None = None,
    ) -> Sending: ...


class Transaction:
    """A handle of a transaction.  Created by `client.transaction` and `client.resume_transaction`.

    with client.transaction(timeout_ms=10_000) as txn:
        for message in consumer.receive(100):
            txn.send("invoices", message.json(), key=message.key)
            txn.ack(consumer, message)
    """

    def __init__(
        self,
        transactions: Transactions,
        leases: Leases,
        sender: Sender,
        producer_of: Callable[[str], TopicProducer],
        deferred: DeferredRecords,
        timeout_ms: int,
        id: TxnId | None,
    ) -> None:
        self._transactions = transactions
        self._leases = leases
        self._sender = sender
        self._producer_of = producer_of
        self._deferred = deferred
        self._timeout_ms = timeout_ms
        self.id = id
        # A resumed transaction may have used any sequence number, so its batches are sent without one.
        self._is_resumed = id is not None
        self._deadline_s = float("inf")
        self._state = TxnState.OPEN
        self._failure: LedgerError | None = None
        self._operations = 0
        self._is_beginning = False
        self._mutex = Mutex()
        self._changed = Condition(self._mutex)

    def __str__(self) -> str:
        return "that has not begun" if self.id is None else str(self.id)

    @property
    def state(self) -> TxnState:
        """The state, with the deadline taken into account."""
        if self._state is TxnState.OPEN and monotonic() >= self._deadline_s:
            with self._mutex:
                self._state = after(self._state, TxnEvent.EXPIRE, self)
                self._deferred.drop(
                    TransactionTimedOut("The record was not committed before the transaction's timeout.")
                )
        return self._state

    @property
    def producer(self) -> tuple[int, int] | None:
        """Producer id and epoch of its batches; None if they carry none."""
        return None if self.id is None or self._is_resumed else (self.id.producer_id, 0)

    def begin(self) -> None:
        """Begins the transaction on the broker, which gives it its `id`.

        The first operation that needs it does this: an acknowledgement; a record for a second partition, with a
        delivery time, or beyond what fits one batch; waiting for the result of a record.  Records that wait are sent.

        txn = client.transaction(); txn.begin(); print(txn.id)
        """
        with self._mutex:
            while self._is_beginning:
                self._changed.wait()
            if self.id is not None:
                return
            after(self.state, TxnEvent.OPERATE, self)
            self._is_beginning = True
        began_s = monotonic()
        timeout_ms = self._timeout_ms
        if self._deadline_s < float("inf"):
            timeout_ms = max(1, ceil((self._deadline_s - began_s) * 1000))  # what is left of it
        try:
            begun = self._transactions.begin(timeout_ms)
            with self._mutex:
                self.id = TxnId.parse(begun.id)
                self._start_clock(began_s)
                self._deferred.send_in(self)
        finally:
            with self._mutex:
                self._is_beginning = False
                self._changed.notify_all()

    def send(
        self,
        topic: str,
        value: Any,
        *,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        deliver_at: Moment | None = None,
        deliver_after: Span | None = None,
    ) -> Sending:
        """Sends a record as `producer.send` does.  It becomes visible, or is scheduled, when the transaction commits.

        txn.send("invoices", {"order": 7, "total": 12}, key="order-7")
        """
        return self._producer_of(topic).send(
            value,
            key=key,
            headers=headers,
            partition=partition,
            timestamp_ms=timestamp_ms,
            deliver_at=deliver_at,
            deliver_after=deliver_after,
            txn=self,
        )

    def ack(self, source: Source, messages: Any) -> None:
        """Acknowledges messages in the transaction.  source: a consumer, or (topic, subscription[, consumer name]).

        Raises TransactionConflict if they are acknowledged already, or by another open transaction.

        txn.ack(consumer, messages)
        """
        with self.operation():
            self._leases.ack(*where(source), ids_of(messages), txn=self.id)

    def ack_cumulative(self, source: Source, message: Any) -> None:
        """Acknowledges all messages up to this one in the transaction.  Exclusive subscriptions only.

        txn.ack_cumulative(consumer, messages[-1])
        """
        with self.operation():
            self._leases.ack_cumulative(*where(source), id_of(message), txn=self.id)

    def put(self, topic: str, partition: int, entry: Entry, batching: BatchingOptions) -> Sending:
        """Sends an encoded record, or lets it wait for the commit."""
        now_s = monotonic()
        with self._mutex:
            self.check_usable()
            joined = None
            if self.id is None and not self._is_beginning:
                self._sender.check_open()
                joined = self._deferred.put(topic, partition, entry, batching)
            if joined is not None:
                self._start_clock(now_s)
        if joined is not None:
            self._sender.take_turns(now_s)
            return Sending(*joined, self._hurry)
        with self.operation():
            return self._sender.put(topic, partition, self, entry, batching)

    def waiting_partition(self, topic: str) -> int | None:
        """The partition whose records wait for the commit, if it is one of the topic."""
        return self._deferred.partition_of(topic)

    @contextmanager
    def operation(self) -> Iterator[None]:
        """Wraps an operation of the transaction.  Commit and abort wait for it; if it fails, only abort is possible."""
        self.check_usable()
        self._begin_for_operation()
        with self._mutex:
            self.check_usable()
            self._operations += 1
        try:
            yield
        except LedgerError as error:
            self.fail(error)
            raise
        finally:
            self._operation_ended()

    def check_usable(self) -> None:
        """Raises InvalidTxnStatus if it has ended, TransactionAbortOnly if one of its operations failed."""
        after(self.state, TxnEvent.OPERATE, self)
        if self._failure is not None:
            raise self._abort_only() from self._failure

    def fail(self, error: LedgerError) -> None:
        """Makes the transaction abort-only.  The first error is reported, also by the records that wait."""
        with self._mutex:
            if self._failure is None:
                self._failure = error
                self._deferred.drop(self._abort_only())

    def commit(self) -> None:
        """Flushes, waits for all operations, and commits.  May be repeated after OutcomeUnknown or Unavailable.

        If an operation failed, aborts and raises TransactionAbortOnly.  Records that wait are appended now, so their
        place in the log is that of the commit.

        txn.commit()
        """
        with self._mutex:
            self._state = after(self.state, TxnEvent.COMMIT, self)
            while self._operations or self._is_beginning:
                self._changed.wait()
            self._operations += 1  # a second commit waits
        try:
            if self._failure is None:
                self._flush()
        finally:
            self._operation_ended()
        if self._failure is None:
            self._end(self._commit_there)
            return
        self._state = after(self._state, TxnEvent.FAILED, self)
        error = self._abort_only()
        try:
            self._abort()
        except LedgerError as unaborted:
            error.add_note(_abort_failed(self, unaborted))
        raise error from self._failure

    def abort(self) -> None:
        """Drops unsent records and aborts.  Its records never become visible; its acknowledgements are undone.

        txn.abort()
        """
        with self._mutex:
            self._state = after(self.state, TxnEvent.ABORT, self)
        self._abort()

    def __enter__(self) -> Transaction:
        if self.id is None:
            self._start_clock(monotonic())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state = self.state
        if error is None:
            if state in (TxnState.OPEN, TxnState.COMMITTING):
                self.commit()
                return
            if state is TxnState.TIMED_OUT:
                self._sender.drop(self)
                after(state, TxnEvent.COMMIT, self)
        if state in (TxnState.OPEN, TxnState.ABORTING):
            try:
                self.abort()
            except LedgerError as unaborted:
                if error is None:
                    raise
                error.add_note(_abort_failed(self, unaborted))
        elif state is not TxnState.COMMITTING:
            self._sender.drop(self)

    def _operation_ended(self) -> None:
        with self._mutex:
            self._operations -= 1
            self._changed.notify_all()

    def _start_clock(self, now_s: float) -> None:
        """Sets the deadline, if it is not set."""
        # 0 selects the broker's default, which is the same.
        self._deadline_s = min(self._deadline_s, now_s + (self._timeout_ms or TIMEOUT_MS) / 1000)

    def _begin_for_operation(self) -> None:
        try:
            self.begin()
        except LedgerError as error:
            if self._deferred:  # a commit would append what waits without this operation
                self.fail(error)
            raise

    def _hurry(self) -> None:
        """Sends the records that wait.  If that fails, the error is their result."""
        try:
            self.check_usable()
            self._begin_for_operation()
        except LedgerError:
            return

    def _flush(self) -> None:
        """Sends what is unsent; what has been deferred is committed by that."""
        if self.id is not None:
            self._sender.flush(self)
            return
        try:
            self._deferred.append()
        except Unavailable:
            raise  # the commit may be repeated
        except LedgerError as error:
            self.fail(error)

    def _abort(self) -> None:
        with self._mutex:
            self._deferred.drop(TransactionEnded("The transaction was aborted before this record was sent."))
        self._sender.drop(self)
        with self._mutex:
            while self._operations or self._is_beginning:
                self._changed.wait()
        self._end(self._abort_there)

    def _end(self, there: Callable[[], Any]) -> None:
        try:
            if self.id is not None:
                there()
        except (NotFound, TransactionError):
            self._state = after(self._state, TxnEvent.REFUSED, self)
            raise
        else:
            self._state = after(self._state, TxnEvent.ANSWERED, self)
        finally:
            self._sender.forget(self)

    def _commit_there(self) -> None:
        assert self.id is not None
        self._transactions.commit(self.id)

    def _abort_there(self) -> None:
        assert self.id is not None
        try:
            self._transactions.abort(self.id)
        except (AlreadyAborted, TransactionTimedOut):
            return  # the broker has aborted it already

    def _abort_only(self) -> TransactionError:
        assert self._failure is not None
        if isinstance(self._failure, TransactionsDisabled):  # as would any other transaction
            return TransactionsDisabled(self._failure.detail)
        return TransactionAbortOnly(
            f"Transaction {self} cannot be committed: one of its operations failed. {self._failure.detail} "
            "Restart from the last committed state.",
            transaction=str(self),
            cause=self._failure.code,
        )


def _abort_failed(txn: Transaction, error: LedgerError) -> str:
    return f"Transaction {txn} could not be aborted ({error.detail}); the broker aborts it at its deadline."
