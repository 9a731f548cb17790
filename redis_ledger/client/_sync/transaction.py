"""Transaction: sends and acknowledgements that take effect together or not at all.

    with client.transaction() as txn:      begin
        txn.send("invoices", {...})        ┐ in any number, on any topics and subscriptions;
        txn.ack(consumer, message)         ┘ a failed operation makes the transaction abort-only
                                                 normal exit: flush, commit; exception: drop, abort, reraise

`states.py` has the state machine.  The broker aborts a transaction at its deadline; past it, by the client's own clock,
operations fail without a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType
from typing import Any, Protocol, TypeAlias, runtime_checkable

from redis_ledger.client import arguments
from redis_ledger.client._sync.admin import Transactions
from redis_ledger.client._sync.leases import Leases
from redis_ledger.client._sync.sender import Sender, Sending
from redis_ledger.client.concurrency import Condition, Mutex
from redis_ledger.client.deliveries import Moment, Span
from redis_ledger.client.models import Headers
from redis_ledger.client.states import TxnEvent, TxnState, after
from redis_ledger.client.values import id_of, ids_of
from redis_ledger.errors import (
    AlreadyAborted,
    InvalidRequest,
    LedgerError,
    NotFound,
    TransactionAbortOnly,
    TransactionError,
    TransactionTimedOut,
)
from redis_ledger.ids import TxnId

TIMEOUT_MS = 60_000


@runtime_checkable
class SubscriptionConsumer(Protocol):
    """A consumer, as acknowledgements name it."""

    topic: str
    subscription: str
    name: str


Source: TypeAlias = "SubscriptionConsumer | tuple[str, str] | tuple[str, str, str]"


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
        timeout_ms: int = TIMEOUT_MS,
        id: TxnId | None = None,
    ) -> None:
        self._transactions = transactions
        self._leases = leases
        self._sender = sender
        self._producer_of = producer_of
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
            self._state = after(self._state, TxnEvent.EXPIRE, self)
        return self._state

    @property
    def producer(self) -> tuple[int, int] | None:
        """Producer id and epoch of its batches; None if they carry none."""
        return None if self.id is None or self._is_resumed else (self.id.producer_id, 0)

    def begin(self) -> None:
        """Begins the transaction on the broker.  The first operation does this if it has not been called.

        txn = client.transaction(); txn.begin(); print(txn.id)
        """
        with self._mutex:
            while self._is_beginning:
                self._changed.wait()
            if self.id is not None:
                return
            self._is_beginning = True
        began_s = monotonic()
        try:
            self.id = TxnId.parse((self._transactions.begin(self._timeout_ms)).id)
            # 0 selects the broker's default, which is the same.
            self._deadline_s = began_s + (self._timeout_ms or TIMEOUT_MS) / 1000
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

    @contextmanager
    def operation(self) -> Iterator[None]:
        """Wraps an operation of the transaction.  Commit and abort wait for it; if it fails, only abort is possible."""
        self.check_usable()
        self.begin()
        with self._mutex:
            self.check_usable()
            self._operations += 1
        try:
            yield
        except LedgerError as error:
            self.fail(error)
            raise
        finally:
            with self._mutex:
                self._operations -= 1
                self._changed.notify_all()

    def check_usable(self) -> None:
        """Raises InvalidTxnStatus if it has ended, TransactionAbortOnly if one of its operations failed."""
        after(self.state, TxnEvent.OPERATE, self)
        if self._failure is not None:
            raise self._abort_only() from self._failure

    def fail(self, error: LedgerError) -> None:
        """Makes the transaction abort-only.  The first error is reported."""
        with self._mutex:
            if self._failure is None:
                self._failure = error

    def commit(self) -> None:
        """Flushes, waits for all operations, and commits.  May be repeated after OutcomeUnknown or Unavailable.

        If an operation failed, aborts and raises TransactionAbortOnly.

        txn.commit()
        """
        with self._mutex:
            self._state = after(self.state, TxnEvent.COMMIT, self)
            while self._operations:
                self._changed.wait()
        if self._failure is None:
            self._sender.flush(self)
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
        self.begin()
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

    def _abort(self) -> None:
        self._sender.drop(self)
        with self._mutex:
            while self._operations:
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

    def _abort_only(self) -> TransactionAbortOnly:
        assert self._failure is not None
        return TransactionAbortOnly(
            f"Transaction {self} cannot be committed: one of its operations failed. {self._failure.detail} "
            "Restart from the last committed state.",
            transaction=str(self),
            cause=self._failure.code,
        )


def where(source: Source) -> tuple[str, str, str]:
    """Returns topic, subscription and consumer name."""
    if isinstance(source, SubscriptionConsumer):
        return source.topic, source.subscription, source.name
    names = arguments.sequence("source", source)
    if not 2 <= len(names) <= 3:
        raise InvalidRequest(f"{source!r:.60} is neither a consumer nor (topic, subscription[, consumer name]).")
    topic, subscription, name = (*names, "default")[:3]
    return topic, subscription, name


def _abort_failed(txn: Transaction, error: LedgerError) -> str:
    return f"Transaction {txn} could not be aborted ({error.detail}); the broker aborts it at its deadline."
