"""A transaction as its client holds it: sends and acknowledgements that take effect together or not at all.

    with client.transaction() as txn:      begin
        txn.send("invoices", {...})        ┐ in any number, on any topics and subscriptions;
        txn.ack(consumer, message)         ┘ the first that fails makes the transaction abort-only
                                                 left normally: flush, commit; by an exception: drop, abort, raise on

`states.py` says what may happen when.  The broker aborts a transaction whose deadline has passed; the handle notices by
its own clock and then fails without asking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from redis_ledger.client import arguments
from redis_ledger.client._sync.admin import Transactions
from redis_ledger.client._sync.consumer import Consumer
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

if TYPE_CHECKING:
    from redis_ledger.client._sync.producer import Producer

Source: TypeAlias = "Consumer | tuple[str, str] | tuple[str, str, str]"
TIMEOUT_MS = 60_000


class Transaction:
    """Made by `client.transaction` and `client.resume_transaction`.

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
        producer_of: Callable[[str], Producer],
        timeout_ms: int = TIMEOUT_MS,
        id: TxnId | None = None,
    ) -> None:
        self._transactions = transactions
        self._leases = leases
        self._sender = sender
        self._producer_of = producer_of
        self._timeout_ms = timeout_ms
        self.id = id
        # A transaction taken up from elsewhere may have used any sequence number, so its sends go without one.
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
        """Where it stands, its deadline taken into account."""
        if self._state is TxnState.OPEN and monotonic() >= self._deadline_s:
            self._state = after(self._state, TxnEvent.EXPIRE, self)
        return self._state

    @property
    def producer(self) -> tuple[int, int] | None:
        """Producer id and epoch of its batches."""
        return None if self.id is None or self._is_resumed else (self.id.producer_id, 0)

    def begin(self) -> None:
        """Asks the broker for an id, unless there is one; the first operation does it as well.

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
            # 0 asks for the broker's default, which is ours as well.
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
        """As `producer.send`; visible, or scheduled, once the transaction is committed.

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
        """Acknowledges within the transaction.  source: the consumer, or (topic, subscription[, consumer's name]).
        Raises TransactionConflict when another transaction or a plain acknowledgement was first.

        txn.ack(consumer, messages)
        """
        with self.operation():
            self._leases.ack(*where(source), ids_of(messages), txn=self.id)

    def ack_cumulative(self, source: Source, message: Any) -> None:
        """Acknowledges all up to this message, within the transaction; exclusive subscriptions only.

        txn.ack_cumulative(consumer, messages[-1])
        """
        with self.operation():
            self._leases.ack_cumulative(*where(source), id_of(message), txn=self.id)

    @contextmanager
    def operation(self) -> Iterator[None]:
        """Something that takes part.  Commit and abort wait for its end; if it fails, only abort is left."""
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
        """Raises InvalidTxnStatus if it is over, TransactionAbortOnly if an operation of it failed."""
        after(self.state, TxnEvent.OPERATE, self)
        if self._failure is not None:
            raise self._abort_only() from self._failure

    def fail(self, error: LedgerError) -> None:
        """An operation failed: from now on it can only be aborted.  The first error is the one that is told."""
        with self._mutex:
            if self._failure is None:
                self._failure = error

    def commit(self) -> None:
        """Flushes, waits for every send and acknowledgement, and commits; safe to call again when it raised
        OutcomeUnknown or Unavailable.  Raises TransactionAbortOnly, having aborted, when one of them failed.

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
            error.add_note(_left_to_time(self, unaborted))
        raise error from self._failure

    def abort(self) -> None:
        """Drops what is not sent yet and aborts.  Nothing of the transaction is ever seen, and the messages it
        acknowledged are delivered again.

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
                error.add_note(_left_to_time(self, unaborted))
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
            return  # the broker was first, and of the same mind

    def _abort_only(self) -> TransactionAbortOnly:
        assert self._failure is not None
        return TransactionAbortOnly(
            f"Transaction {self} cannot be committed, since an operation of it failed: {self._failure.detail} "
            "Begin again from the last committed state.",
            transaction=str(self),
            cause=self._failure.code,
        )


def where(source: Source) -> tuple[str, str, str]:
    """Topic, subscription and consumer's name."""
    if isinstance(source, Consumer):
        return source.topic, source.subscription, source.name
    names = arguments.sequence("source", source)
    if not 2 <= len(names) <= 3:
        raise InvalidRequest(f"{source!r:.60} is not a consumer, nor a topic, a subscription and a consumer's name.")
    topic, subscription, name = (*names, "default")[:3]
    return topic, subscription, name


def _left_to_time(txn: Transaction, error: LedgerError) -> str:
    return f"Transaction {txn} could not be aborted ({error.detail}); the broker aborts it at its deadline."
