"""Transactions: begins, registers participants, commits, aborts, lists.

    begin ─▶ first use: register ─▶ write, acknowledge ─▶ decide ─▶ end on every participant ─▶ respond ─▶ done

The decision is the point of no return.  Ends are idempotent and run in parallel; the response is sent after all are
done, so that a client can read what it committed.  If this broker dies after the decision, the sweep of any other
broker applies it.  Source: PIP-31; requirements CL-15, TS-05, TS-10.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from redis_ledger.broker.security import transaction_owners
from redis_ledger.broker.security.quotas import Quotas
from redis_ledger.broker.transactions.participant_registry import ParticipantRegistry
from redis_ledger.broker.types import CommittedAll, Transaction, TransactionStatus
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import (
    InvalidTimeout,
    LedgerError,
    TransactionNotFound,
    TransactionsDisabled,
    Unavailable,
    UnsupportedTxnAction,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.telemetry import tracing
from redis_ledger.telemetry.transaction_metrics import aborted, committed
from redis_ledger.txn.commit_all import CommitAll, CommitNumber
from redis_ledger.txn.coordinator import Coordinators, Decision, Participant, TransactionRecord
from redis_ledger.txn.end_span import PARTICIPANTS_MAX, end_span
from redis_ledger.txn.operations import Coordinator
from redis_ledger.txn.participants import Participants
from redis_ledger.txn.states import TxnState

STATUS: dict[TxnState, TransactionStatus] = {
    TxnState.OPEN: "open",
    TxnState.COMMITTING: "committing",
    TxnState.COMMITTED: "committed",
    TxnState.ABORTING: "aborting",
    TxnState.TIMING_OUT: "aborting",
    TxnState.ABORTED: "aborted",
}
ENDED: frozenset[TransactionStatus] = frozenset({"committed", "aborted"})
RETRY_S_MAX = 1.0
TRANSACTIONS_READ_MAX = 20_000  # of each coordinator, to filter them


class Transactions:
    def __init__(
        self,
        coordinators: Coordinators,
        participants: Participants,
        registry: ParticipantRegistry,
        together: CommitAll,
        catalog: Catalog,
        quotas: Quotas,
        config: Config,
        clock: Clock,
    ) -> None:
        self._coordinators, self._participants, self._registry = coordinators, participants, registry
        self.together = together
        self._catalog, self._quotas, self._config, self._clock = catalog, quotas, config, clock
        self._background: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()

    def check_enabled(self) -> None:
        """For a client's request with a transaction; the broker's own, such as those that move dead letters, run in
        any case.  Raises TransactionsDisabled."""
        if not self._config.transactions_enabled:
            raise TransactionsDisabled

    # -- life cycle --------------------------------------------------------------------------------------------------

    async def begin(
        self,
        timeout_ms: int | None = None,
        *,
        owner: str = "",
        nonce: str = "",
        together: str = "",
        principal: str = "",
        quota_of: str | None = None,
    ) -> Transaction:
        """Begins a transaction; with a nonce, returns the one begun with it before, unless that was aborted.

        together    transactions begun with the same name can be committed in one step
        principal   the owner of the transaction
        quota_of    owner of the quota of open transactions; None: it is not counted
        Raises InvalidTimeout, TooManyTransactions, TransactionQuotaExceeded.
        """
        if quota_of is None:
            return await self._begin(timeout_ms, owner, nonce, together, principal)
        reserved, id = object(), None  # counted under `reserved` until it has an id
        await self._quotas.may_open(quota_of, reserved)
        try:
            begun = await self._begin(timeout_ms, owner, nonce, together, principal)
            id = begun.id
        finally:
            self._quotas.opened(quota_of, reserved, id)
        return begun

    async def _begin(
        self, timeout_ms: int | None, owner: str, nonce: str, together: str, principal: str
    ) -> Transaction:
        timeout = self.timeout(timeout_ms)
        at = self.together.coordinator(together or nonce) if together or nonce else None
        now = self._clock.now_ms()  # read before it begins, so that the returned deadline is never too late
        owners = transaction_owners.written(principal, owner)
        txn, again = await self._coordinators.begin(timeout, owners, nonce, at=at, may_move=not together)
        if again:
            return await self.get(txn)
        return Transaction(txn, "open", timeout, now, now + timeout, owner=owner, principal=principal)

    def timeout(self, timeout_ms: int | None) -> int:
        """0 and None mean the default."""
        most = self._config.max_transaction_timeout_ms
        if timeout_ms is not None and not 0 <= timeout_ms <= most:
            raise InvalidTimeout(f"The timeout is {timeout_ms} ms; it can be 0 (default) to {most} ms.")
        return timeout_ms or self._config.default_timeout_ms

    async def add_partitions(self, txn: TxnId, partitions: Sequence[tuple[str, int]]) -> Transaction:
        found = [await self._catalog.partition(topic, number) for topic, number in partitions]
        await self._registry.register(txn, [Participant(p.topic, p.topic_id, p.number) for p in found])
        return await self.get(txn)

    async def add_subscriptions(self, txn: TxnId, subscriptions: Sequence[tuple[str, str]]) -> Transaction:
        touched = []
        for topic, name in subscriptions:
            entry = await self._catalog.get(topic)
            touched += [Participant(topic, entry.id, number, name) for number in range(entry.partitions)]
        await self._registry.register(txn, touched)
        return await self.get(txn)

    async def commit(self, txn: TxnId, *, wait: str = "all") -> Transaction:
        """wait: "all" returns when every participant is done, "logged" when the decision is logged (TS-10).
        A retry has the same result.  Raises AlreadyAborted, TransactionTimedOut, TransactionNotFound."""
        _check_wait(wait)
        known = self._registry.registered(txn) if wait == "all" else None
        return await self._after(await self._coordinators.decide(txn, commit=True, known=known), wait)

    async def commit_all(
        self, txns: Sequence[TxnId], once: CommitNumber | None = None, *, wait: str = "all"
    ) -> CommittedAll:
        """Commits all in one decision, or none; with `once`, only if no number as high was committed under its name.
        A retry has the same result.  Raises as CommitAll.commit, and as `commit` if participants cannot be reached;
        the sweep then ends the transactions."""
        _check_wait(wait)
        outcome = await self.together.commit(list(dict.fromkeys(txns)), once)
        if outcome.decisions is None:
            return CommittedAll("already", outcome.number)
        ended = await asyncio.gather(*(self._after(d, wait) for d in outcome.decisions), return_exceptions=True)
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        return CommittedAll("committed" if wait == "all" else "committing", outcome.number)

    async def abort(self, txn: TxnId) -> Transaction:
        """A retry succeeds, also if the timeout came first.  Raises AlreadyCommitted, TransactionNotFound."""
        known = self._registry.registered(txn)
        return await self._after(await self._coordinators.decide(txn, commit=False, known=known), "all")

    async def _after(self, decision: Decision, wait: str) -> Transaction:
        self._registry.forget(decision.txn)
        if self._quotas.is_on:
            self._quotas.ended(decision.txn)
        if not decision.state.is_ending:
            return Transaction(decision.txn, STATUS[decision.state], 0, 0, 0)
        if wait == "logged":
            task = self._loop.create_task(self._finish_quietly(decision))
            self._background.add(task)
            task.add_done_callback(self._background.discard)
            return Transaction(decision.txn, STATUS[decision.state], 0, 0, 0)
        await self.finish(decision)
        return Transaction(decision.txn, "committed" if decision.state is TxnState.COMMITTING else "aborted", 0, 0, 0)

    async def finish(self, decision: Decision) -> None:
        """Applies a decision to its participants and marks it done.  Retries with growing pauses for as long as a call
        to Redis may take; then it raises, and the sweep continues."""
        self._registry.forget(decision.txn)
        deadline = self._loop.time() + self._config.redis_timeout_ms / 1000
        pause, ends = 0.02, ""
        with tracing.NOTHING if tracing.tracer is None else _span_of(decision):
            while True:
                try:
                    ends = await self._participants.end(await self._coordinators.whole(decision))
                    break
                except LedgerError as error:
                    if not error.retriable or self._loop.time() + pause > deadline:
                        raise
                await asyncio.sleep(pause)
                pause = min(2 * pause, RETRY_S_MAX)
        series = committed if decision.state is TxnState.COMMITTING else aborted
        series.life.observe(max(self._clock.now_ms() - decision.txn.begun_ms, 0) / 1000)
        self._coordinators.done(decision.txn, ends)

    async def apply_decided(self, txn: TxnId, where: Participant) -> None:
        """Applies the end of a decided transaction, also to `where`, which still has it open.  Does nothing if it is
        not decided.  Raises Unavailable if its coordinator does not have it."""
        try:
            record = await self._coordinators.get(txn)
        except TransactionNotFound:
            raise Unavailable(
                f"Transaction {txn} is open on {where.topic}:{where.partition}, and its coordinator does not have it. "
                "Try again; if the error persists, abort it with WriteTxnMarkers (kafka-transactions abort)."
            ) from None
        if record.state is TxnState.OPEN:
            return
        is_commit = record.state in (TxnState.COMMITTING, TxnState.COMMITTED)
        await self._after(await self._coordinators.decide(txn, commit=is_commit), "all")
        if not record.state.is_ending:  # it had ended: its participants are no longer stored
            ending = TxnState.COMMITTING if is_commit else TxnState.ABORTING
            await self.apply(Decision(txn, ending, [where], -1, record.producer))

    async def apply(self, decision: Decision) -> None:
        """Applies a decision to its participants only, not to a coordinator."""
        await self._participants.end(decision)

    async def _finish_quietly(self, decision: Decision) -> None:
        try:
            await self.finish(decision)
        except LedgerError:
            return  # the decision is in the log: the sweep applies it

    # -- look up -----------------------------------------------------------------------------------------------------

    async def get(self, txn: TxnId) -> Transaction:
        return to_transaction(await self._coordinators.get(txn))

    async def list(
        self,
        status: TransactionStatus | None = None,
        min_age_ms: int = 0,
        limit: int = 100,
        owner: str = "",
        sees: Callable[[TransactionRecord], bool] | None = None,
        *,
        min_timeout_ms: int = 0,
        coordinator: int | None = None,
    ) -> builtins.list[Transaction]:
        """Lists transactions, oldest first; ended ones while their outcome is stored.  If there are more than `limit`,
        these are the oldest live ones, and then the ones that ended last.  owner: its prefix.
        sees: filters by permission.  Raises CoordinatorNotFound."""
        at = [*self._coordinators] if coordinator is None else [await self._coordinators.find(TxnId(coordinator, 0))]
        is_filtered = bool(status or owner or min_timeout_ms or min_age_ms) or sees is not None
        reach = TRANSACTIONS_READ_MAX if is_filtered else limit  # the first ones may all be filtered out
        before = self._clock.now_ms() - min_age_ms

        def is_shown(record: TransactionRecord) -> bool:
            return (
                record.started_ms <= before
                and record.timeout_ms >= min_timeout_ms
                and status in (None, STATUS[record.state])
                and (sees is None or sees(record))
                and transaction_owners.read(record.owner)[1].startswith(owner)
            )

        live = [] if status in ENDED else [record for record in await self._live(at, reach) if is_shown(record)]
        shown = sorted(live, key=lambda record: (record.started_ms, record.txn))[:limit]
        if status is None or status in ENDED:
            known = {record.txn for record in shown}  # one that has ended since
            ended = [r for r in await self._ended(at, reach) if r.txn not in known and is_shown(r)]
            shown += sorted(ended, key=lambda record: (record.ended_ms, record.txn), reverse=True)[: limit - len(shown)]
        return [to_transaction(r) for r in sorted(shown, key=lambda record: (record.started_ms, record.txn))]

    async def latest(
        self, live_max: int, ended_max: int, sees: Callable[[TransactionRecord], bool] | None = None
    ) -> tuple[builtins.list[Transaction], builtins.list[Transaction]]:
        """Returns the live transactions, oldest first, and the ended ones, newest first."""
        reaches = (live_max, ended_max) if sees is None else (TRANSACTIONS_READ_MAX, TRANSACTIONS_READ_MAX)
        at = [*self._coordinators]
        live, ended = await asyncio.gather(self._live(at, reaches[0]), self._ended(at, reaches[1]))
        live = sorted((r for r in live if sees is None or sees(r)), key=lambda r: (r.started_ms, r.txn))
        ended = sorted((r for r in ended if sees is None or sees(r)), key=lambda r: (-r.ended_ms, r.txn))
        return [to_transaction(each) for each in live[:live_max]], [to_transaction(each) for each in ended[:ended_max]]

    async def _live(self, at: Iterable[Coordinator], reach: int) -> builtins.list[TransactionRecord]:
        """Returns the oldest live ones of each coordinator."""
        found = await asyncio.gather(*(self._coordinators.live(c, reach) for c in at))
        return [record for records in found for record in records]

    async def _ended(self, at: Iterable[Coordinator], reach: int) -> builtins.list[TransactionRecord]:
        """Returns the newest ended ones of each coordinator."""
        if not reach:
            return []
        found = await asyncio.gather(*(self._coordinators.finished(c, reach) for c in at))
        return [record for records in found for record in records]

    async def close(self) -> None:
        """Waits for ends in the background."""
        if self._background:
            await asyncio.wait(self._background, timeout=self._config.redis_timeout_ms / 1000)


def _span_of(decision: Decision) -> AbstractContextManager[Any]:
    producer = decision.producer
    return end_span(
        decision.txn,
        is_commit=decision.state is TxnState.COMMITTING,
        participants=[participant.text for participant in decision.participants[:PARTICIPANTS_MAX]],
        producer_id=producer.id if producer else decision.txn.producer_id,
        transactional_id=producer.transactional_id if producer else "",
    )


def _check_wait(wait: str) -> None:
    if wait not in ("all", "logged"):
        raise UnsupportedTxnAction(f"wait is {wait!r}; it can be 'all' or 'logged'.")


def to_transaction(record: TransactionRecord) -> Transaction:
    principal, owner = transaction_owners.read(record.owner)
    return Transaction(
        record.txn,
        STATUS[record.state],
        record.timeout_ms,
        record.started_ms,
        record.deadline_ms,
        record.timed_out,
        owner,
        principal,
        [(p.topic, p.partition) for p in record.participants if p.subscription is None],
        [(p.topic, p.partition, p.subscription) for p in record.participants if p.subscription is not None],
    )
