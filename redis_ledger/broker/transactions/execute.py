"""Executes a consume-transform-produce step: acknowledgements and records take effect together or not at all.

    check everything ─▶ begin and register (one step) ─▶ append and acknowledge in parallel ─▶ decide ─▶ end ─▶ respond

A step that is one batch of one partition is appended instead, without a transaction: single_append.py.

An error before the decision aborts the transaction and is raised.  A repeated step with the same nonce looks for the
transaction of its first attempt before it checks anything: if that is committed, the step succeeds; if it is open or
ending, also by its timeout, it is ended first, so that the repeated step does not conflict with it.
Source: PIP-31 "consume-transform-produce"; requirement CL-15.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from redis_ledger.broker.produce.service import Records
from redis_ledger.broker.security import transaction_owners
from redis_ledger.broker.subscriptions.service import Subscriptions
from redis_ledger.broker.transactions.service import Transactions
from redis_ledger.broker.transactions.single_append import SingleAppend, is_single_append
from redis_ledger.broker.types import Appended, ExecuteAcks, Executed, ExecuteRecords
from redis_ledger.cursor.ranges import Range
from redis_ledger.errors import (
    AlreadyCommitted,
    InvalidRequest,
    LedgerError,
    OutcomeUnknown,
    RequestInProgress,
    TransactionAbortOnly,
    TransactionNotFound,
    UnknownTopic,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.partition import Partition
from redis_ledger.txn.coordinator import Coordinators, Participant, step_nonce
from redis_ledger.txn.operations import Coordinator

ATTEMPTS_MAX = 8


class Execute:
    def __init__(
        self,
        coordinators: Coordinators,
        transactions: Transactions,
        records: Records,
        single: SingleAppend,
        subscriptions: Subscriptions,
    ) -> None:
        self._coordinators, self._transactions = coordinators, transactions
        self._records, self._single, self._subscriptions = records, single, subscriptions

    async def run(
        self,
        acks: Sequence[ExecuteAcks],
        records: Sequence[ExecuteRecords],
        *,
        timeout_ms: int | None = None,
        nonce: str = "",
        principal: str = "",
        may_begin: Callable[[], bool] = lambda: True,
    ) -> Executed:
        """may_begin: whether the Idempotency-Key is still held, so that no other attempt runs.  Raises the error of the
        acknowledgement or append, after aborting the transaction, and RequestInProgress."""
        try:
            return await self._once(acks, records, timeout_ms, nonce, principal, may_begin)
        except UnknownTopic:
            # A cached topic was deleted and created again.  The step had no effect, and the cache entry is removed now.
            return await self._once(acks, records, timeout_ms, nonce, principal, may_begin)

    async def _once(
        self,
        acks: Sequence[ExecuteAcks],
        records: Sequence[ExecuteRecords],
        timeout_ms: int | None,
        nonce: str,
        principal: str,
        may_begin: Callable[[], bool],
    ) -> Executed:
        timeout = self._transactions.timeout(timeout_ms)
        if not acks and not records:
            raise InvalidRequest("Give at least one of acks and records.")
        held: list[tuple[Partition, ExecuteAcks, list[Range]]] = []
        for ack in acks:
            held += [
                (p, ack, ranges) for p, ranges in await self._subscriptions.cursors.by_partition(ack.topic, ack.ids)
            ]
        sequences: dict[Partition, int] = {}
        outgoing = []
        for item in records:
            prepared = await self._records.prepare(item.topic, item.records, may_create=item.may_create)
            outgoing.append((item.topic, prepared.numbered(sequences)))
        if is_single_append(acks, [prepared for _, prepared in outgoing], nonce):
            topic, prepared = outgoing[0]
            return Executed(None, {topic: await self._single.append(prepared)})
        participants = [Participant(p.topic, p.topic_id, p.number, ack.subscription) for p, ack, _ in held]
        participants += [participant for _, prepared in outgoing for participant in prepared.participants]

        if not may_begin():
            raise RequestInProgress()
        txn, replayed = await self.begin(timeout, principal, nonce, list(dict.fromkeys(participants)))
        if replayed:
            return Executed(txn, {}, True)
        try:
            holds = [self._subscriptions.ack_one(p, a.subscription, a.consumer, r, txn) for p, a, r in held]
            writes = [self._records.append_prepared(prepared, txn) for _, prepared in outgoing]
            results = await asyncio.gather(*holds, *writes, return_exceptions=True)
            failures = [r for r in results if isinstance(r, BaseException)]
            if failures:
                raise failures[0]
        except BaseException as error:
            await self.abort(txn, error)
            raise
        await self.commit(txn, participants)
        for topic, name, consumer in {(ack.topic, ack.subscription, ack.consumer) for ack in acks}:
            await self._subscriptions.extend_session(topic, name, consumer)
        appended: dict[str, list[Appended]] = {}
        for (topic, _), where in zip(outgoing, results[len(holds) :], strict=True):
            assert isinstance(where, list)
            appended.setdefault(topic, []).extend(where)
        return Executed(txn, appended)

    def answered(self, nonce: str) -> None:
        """Call after the response of a step that had one attempt is stored: the coordinator then deletes the step.  Of
        several attempts one may have been paused before it began, and must find the committed step."""
        at = self._at(nonce)
        assert at is not None, "a step without a nonce is not stored"
        at.submit("forget_step", step_nonce(nonce), lazy=True)

    async def earlier(self, nonce: str) -> TxnId | None:
        """The transaction by which an earlier attempt has committed the step.  One that it has not is aborted."""
        at = self._at(nonce)
        assert at is not None, "a step without a nonce has no earlier attempt"
        txn, is_committed = await self._coordinators.step(step_nonce(nonce), at)
        if txn is None or is_committed:
            return txn
        with contextlib.suppress(TransactionNotFound):  # it was aborted long ago
            return txn if await self._ends_committed(txn) else None
        return None

    async def _ends_committed(self, txn: TxnId) -> bool:
        """Ends the transaction of an earlier attempt: aborts it, unless its commit is decided."""
        try:
            await self._transactions.abort(txn)
        except AlreadyCommitted:
            await self._transactions.commit(txn)
            return True
        return False

    def _at(self, nonce: str) -> Coordinator | None:
        """The coordinator of a step; a retry finds the same one, also if coordinators were added since."""
        return self._transactions.together.coordinator(nonce) if nonce else None

    async def begin(
        self, timeout_ms: int, principal: str, nonce: str, participants: Sequence[Participant]
    ) -> tuple[TxnId, bool]:
        """The transaction of a step, and whether an earlier attempt has committed it."""
        for _ in range(ATTEMPTS_MAX):
            txn, found = await self._coordinators.begin(
                timeout_ms,
                transaction_owners.written(principal, ""),
                step_nonce(nonce) if nonce else "",
                participants,
                self._at(nonce),
            )
            if found != "again":
                return txn, found == "committed"
            if await self._ends_committed(txn):
                return txn, True
        raise TransactionAbortOnly("Several callers are repeating this step at the same time; repeat it once more.")

    async def _finish(self, txn: TxnId, ends: Awaitable[object]) -> None:
        """Raises OutcomeUnknown for errors after the decision, so that the caller does not repeat the step."""
        try:
            await ends
        except LedgerError as error:
            raise OutcomeUnknown(
                f"The step is committed as transaction {txn} and becomes visible when Redis is reachable; "
                f"do not repeat it. ({error})",
                transaction=str(txn),
            ) from error

    async def commit(self, txn: TxnId, participants: Sequence[Participant]) -> None:
        """Commits a step, or aborts it and raises the error.  participants: all of them."""
        try:
            decision = await self._coordinators.decide(txn, commit=True, known=participants)
        except BaseException as error:
            was_committed = await self.abort(txn, error)
            if not was_committed or not isinstance(error, LedgerError):
                raise
            # The reply to the decision was lost.
            await self._finish(txn, self._transactions.commit(txn))
            return
        if decision.state.is_ending:
            await self._finish(txn, self._transactions.finish(decision))

    async def abort(self, txn: TxnId, error: BaseException) -> bool:
        """Aborts the transaction; if that fails, its timeout does.  The caller raises the first error.  Returns whether
        it cannot be aborted, since it was committed."""
        try:
            await asyncio.shield(self._transactions.abort(txn))
        except AlreadyCommitted:
            return True
        except LedgerError as second:
            error.add_note(f"aborting transaction {txn} failed as well: {second}")
        return False
