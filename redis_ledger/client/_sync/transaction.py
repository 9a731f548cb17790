"""Transaction: sends and acknowledgements that take effect together or not at all.

    with client.transaction() as txn:
        txn.send("invoices", {...})        ┐ in any number, on any topics and subscriptions;
        txn.ack(consumer, message)         ┘ a failed operation makes the transaction abort-only
                                                 normal exit: flush, commit; exception: drop, abort, reraise

It begins with the first operation that needs it.  Records and acknowledgements that fit one request wait, and the
commit sends that request: `deferred.py`.  `states.py` has the state machine.  The broker aborts a transaction at its
deadline; past it, by the client's own clock, operations fail without a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import TracebackType
from typing import Any

from redis_ledger.client._sync.admin import Transactions
from redis_ledger.client._sync.deferred import Deferred
from redis_ledger.client._sync.leases import Leases
from redis_ledger.client._sync.sender import Sender, Sending
from redis_ledger.client._sync.topic_producer import TopicProducer
from redis_ledger.client._sync.waiting_acks import AckSource, WaitingAcks
from redis_ledger.client.batches import BatchingOptions, Entry
from redis_ledger.client.concurrency import Condition, Mutex
from redis_ledger.client.deadline import Deadline
from redis_ledger.client.deferral import hold_s
from redis_ledger.client.deliveries import Moment, Span
from redis_ledger.client.models import Headers
from redis_ledger.client.sources import Source, ack_source, where
from redis_ledger.client.states import TxnEvent, TxnState, after
from redis_ledger.client.transaction_errors import abort_failed, abort_only
from redis_ledger.client.values import id_of, ids_of
from redis_ledger.errors import (
    AlreadyAborted,
    LedgerError,
    NotFound,
    TransactionEnded,
    TransactionError,
    TransactionTimedOut,
    Unavailable,
)
from redis_ledger.ids import TxnId


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
        waiting_acks: WaitingAcks,
        sender: Sender,
        producer_of: Callable[[str], TopicProducer],
        deferred: Deferred,
        timeout_ms: int,
        id: TxnId | None,
    ) -> None:
        self._transactions, self._leases, self._waiting_acks = transactions, leases, waiting_acks
        self._sender = sender
        self._producer_of = producer_of
        self._deferred = deferred
        self.id = id
        # A resumed transaction may have used any sequence number, so its batches are sent without one.
        self._is_resumed = id is not None
        self._deadline = Deadline(timeout_ms)
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
        if self._state is TxnState.OPEN and monotonic() >= self._deadline.at_s:
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

        The first operation that needs it does this: a record with a delivery time, a cumulative acknowledgement, more
        than fits one request; waiting for the result of a record; a lease that ends.  What waits is sent: raises
        TransactionAbortOnly if an acknowledgement is refused.

        txn = client.transaction(); txn.begin(); print(txn.id)
        """
        with self._mutex:
            while self._is_beginning:
                self._changed.wait()
            if self.id is not None:
                return
            after(self.state, TxnEvent.OPERATE, self)
            self._is_beginning = True
        self._begin()

    def _begin(self) -> None:
        self._waiting_acks.forget(self)
        began_s = monotonic()
        try:
            begun = self._transactions.begin(self._deadline.left_ms(began_s))
            with self._mutex:
                self.id = TxnId.parse(begun.id)
                self._deadline.start(began_s)
                self._deferred.send_in(self)
            self._ack_deferred(self.id)
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

        It waits for the commit, as long as the lease allows.  If the messages are acknowledged already, or by another
        transaction, the commit raises TransactionAbortOnly; after `begin`, this raises TransactionConflict.

        txn.ack(consumer, messages)
        """
        with self._mutex:
            self.check_usable()
            try:
                place, ids, now_s = ack_source(source), ids_of(messages), monotonic()
            except LedgerError as error:
                self.fail(error)
                raise
            if self.id is None and not self._is_beginning:
                self._sender.check_open()
                waits_s = hold_s(messages, now_s)
                if self._deferred.add_acks(place, ids, waits_s):
                    self._leases.settled(place, ids)
                    self._deadline.start(now_s)
                    self._waiting_acks.add(self, min(now_s + waits_s, self._deadline.at_s))
                    return
        with self.operation():
            self._leases.ack(*place, ids, txn=self.id)

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
                self._deadline.start(now_s)
        if joined is not None:
            self._sender.take_turns(now_s)
            return Sending(*joined, self.hurry)
        with self.operation():
            return self._sender.put(topic, partition, self, entry, batching)

    def waiting_partition(self, topic: str) -> int | None:
        """A partition of the topic whose records wait for the commit, if there is one."""
        return self._deferred.partition_of(topic)

    def acknowledges(self, source: AckSource) -> bool:
        """Whether acknowledgements of a consumer wait for the commit."""
        return self._deferred.acknowledges(source)

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
        if self.state is not TxnState.OPEN:
            after(self._state, TxnEvent.OPERATE, self)
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
        place in the log is that of the commit.  Acknowledgements that wait may conflict now, which is such a failure.

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
            error.add_note(abort_failed(self, unaborted))
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
            self._deadline.start(monotonic())
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
                error.add_note(abort_failed(self, unaborted))
        elif state is not TxnState.COMMITTING:
            self._sender.drop(self)

    def _operation_ended(self) -> None:
        with self._mutex:
            self._operations -= 1
            self._changed.notify_all()

    def _begin_for_operation(self) -> None:
        try:
            self.begin()
        except LedgerError as error:
            if self._deferred:  # a commit would append what waits without this operation
                self.fail(error)
            raise

    def hurry(self) -> None:
        """Sends what waits.  If that fails, the error is the result of the records.  Past the deadline, returns the
        messages whose acknowledgement waits."""
        with suppress(LedgerError):
            if self.state is TxnState.TIMED_OUT:
                self._deferred.give_back()
            self.check_usable()
            self._begin_for_operation()

    def _flush(self) -> None:
        """Sends what is unsent.  If the transaction has not begun, that commits it."""
        self._waiting_acks.forget(self)
        try:
            if self.id is None:
                if self._deferred.commit(self._deadline.left_ms(monotonic())):
                    return
                self._is_beginning = True
                self._begin()
            assert self.id is not None
            self._ack_deferred(self.id)
        except Unavailable:
            raise  # the commit may be repeated
        except LedgerError as error:
            self.fail(error)
        self._sender.flush(self)

    def _ack_deferred(self, id: TxnId) -> None:
        """Sends the acknowledgements that wait, in the transaction, which has begun.  Raises TransactionAbortOnly."""
        try:
            self._deferred.ack_in(id)
        except LedgerError as error:
            self.fail(error)
            raise self._abort_only() from error

    def _abort(self) -> None:
        with self._mutex:
            self._deferred.drop(TransactionEnded("The transaction was aborted before this record was sent."))
        self._sender.drop(self)
        with self._mutex:
            while self._operations or self._is_beginning:
                self._changed.wait()
        self._waiting_acks.forget(self)
        self._deferred.give_back()
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
        return abort_only(self, self._failure)
