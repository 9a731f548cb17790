"""Producers: identities for idempotent and transactional producing, and the transactions of Kafka clients.

    InitProducerId ─▶ init     first use of a partition or group ─▶ add     EndTxn ─▶ end on all participants

The open transaction of an id is ended before the response to its next producer, so that no client has to wait for a
transaction that is still being completed.  The map (producer id, epoch) → transaction is a cache; a refusal of a
partition shows that an entry is stale.  Source: KIP-98, KIP-360, KIP-890; docs/decisions/0006.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from redis_ledger.broker.security.quotas import Quotas
from redis_ledger.broker.transactions.listing import ListedTransaction, TransactionListing
from redis_ledger.broker.transactions.participant_registry import (
    EarlyRegistration,
    EarlyRegistrations,
    ParticipantRegistry,
)
from redis_ledger.broker.transactions.service import Transactions
from redis_ledger.config import Config
from redis_ledger.errors import (
    InvalidRequest,
    InvalidTimeout,
    StaleEpoch,
    TransactionError,
    TransactionNotFound,
    Unavailable,
)
from redis_ledger.ids import NO_EPOCH, NO_PRODUCER, TxnId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.registration import Registration
from redis_ledger.txn.coordinator import REGISTERED_AT_ONCE, Coordinators, Decision, Participant, Producer
from redis_ledger.txn.producer_ids import ProducerIds
from redis_ledger.txn.states import TxnState
from redis_ledger.txn.transactional_ids import NAME_LENGTH_MAX, ProducerIdentity, TransactionalIds

PRODUCERS_MAX = 50_000  # cached; evicting one costs a request to its coordinator


class _OpenTransaction(NamedTuple):
    transactional_id: str
    epoch: int
    txn: TxnId


class Producers:
    def __init__(
        self,
        coordinators: Coordinators,
        identities: TransactionalIds,
        transactions: Transactions,
        registry: ParticipantRegistry,
        quotas: Quotas,
        catalog: Catalog,
        config: Config,
        is_alone: Callable[[], bool],
    ) -> None:
        """is_alone: whether there is no other live broker."""
        self.ids, self.identities, self._transactions = ProducerIds(coordinators), identities, transactions
        self._coordinators = coordinators
        self._catalog, self._listing = catalog, TransactionListing(coordinators, identities)
        self._registry, self._quotas, self._config = registry, quotas, config
        self._open: OrderedDict[int, _OpenTransaction] = OrderedDict()
        self._early, self._is_alone = EarlyRegistrations(), is_alone
        self._loop = asyncio.get_running_loop()

    async def allocate(self) -> tuple[int, int]:
        """A fresh producer id and its epoch, 0."""
        return await self.ids.allocate(), 0

    async def init(
        self, transactional_id: str | None, timeout_ms: int, producer_id: int = -1, epoch: int = -1
    ) -> tuple[int, int]:
        """Returns the producer id and epoch.  Without a transactional id they are always new, as in Kafka.
        Raises InvalidTimeout, InvalidRequest, ProducerFenced, TransactionsDisabled."""
        if (producer_id == NO_PRODUCER) != (epoch == NO_EPOCH):
            raise InvalidRequest("Send both the producer id and the epoch of the producer, or -1 for both.")
        if transactional_id is None:
            return await self.allocate()
        self._transactions.check_enabled()
        if not 0 < len(transactional_id) <= NAME_LENGTH_MAX:
            raise InvalidRequest(f"A transactional id has 1 to {NAME_LENGTH_MAX} characters.")
        most = self._config.max_transaction_timeout_ms
        if not 0 < timeout_ms <= most:
            raise InvalidTimeout(f"The transaction timeout is {timeout_ms} ms; it can be 1 to {most} ms.")
        identified = await self.identities.init(transactional_id, timeout_ms, producer_id, epoch)
        current = await self._apply_decision(identified)
        self._early.confirm(transactional_id, *current)
        return current

    async def add(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        participants: Sequence[Participant],
        *,
        principal: str | None = None,
    ) -> TxnId:
        """Registers participants; begins a transaction if none is open.

        principal: owner of the quota of open transactions; None if none can begin.
        Raises TransactionsDisabled, TransactionQuotaExceeded, and as TransactionalIds.add does.
        """
        self._transactions.check_enabled()
        if principal is not None:
            await self._quotas.may_open(principal, transactional_id)
        asked = self._loop.time()
        txn = await self.identities.add(transactional_id, producer_id, epoch, participants)
        self._remember(transactional_id, producer_id, epoch, txn, participants, asked)
        return txn

    @property
    def adds_ahead(self) -> bool:
        """Whether a batch may be sent behind the registration of its partition, before that is answered."""
        return self.identities.is_one_server

    async def add_ahead(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        participants: Sequence[Participant],
        *,
        principal: str,
    ) -> Registration:
        """As `add`, without waiting for the answer.  Raises TransactionsDisabled, TransactionQuotaExceeded, and as
        TransactionalIds.add_ahead does."""
        self._transactions.check_enabled()
        await self._quotas.may_open(principal, transactional_id)
        asked = self._loop.time()
        registration = await self.identities.add_ahead(transactional_id, producer_id, epoch, participants)

        def answered(_: object) -> None:
            if (txn := registration.known()) is not None:
                self._remember(transactional_id, producer_id, epoch, txn, participants, asked)
            elif not isinstance(registration.error(), Unavailable):
                self._early.doubt(producer_id)

        registration.txn.add_done_callback(answered)
        return registration

    async def add_early(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        participants: Sequence[Participant],
        *,
        principal: str,
    ) -> None:
        """As `add`; where a refusal is unlikely it returns before the answer, and the producer's next batch or end
        gets the refusal.  Not with several brokers: another one could look before Redis has executed it."""
        producer = (transactional_id, producer_id, epoch)
        is_early = (
            self.adds_ahead and self._is_alone() and self._early.is_confirmed(*producer)
            and not self._may_have_lapsed(producer_id) and len(participants) <= REGISTERED_AT_ONCE
            and self.identities.writes_at_once(transactional_id)
        )  # fmt: skip
        if not is_early:
            await self.add(*producer, participants, principal=principal)
            return
        registration = await self.add_ahead(*producer, participants, principal=principal)
        self._early.add(producer_id, EarlyRegistration(participants, registration))

    def _may_have_lapsed(self, producer_id: int) -> bool:
        """Whether the producer's open transaction, if it has one, may have ended by its timeout or an administrator."""
        cached = self._open.get(producer_id)
        if cached is None:  # either it has none, or the answer to its registration is not here yet
            return bool(self._early.of(producer_id))
        return not self._registry.knows(cached.txn)

    def early(
        self, transactional_id: str, producer_id: int, epoch: int, participant: Participant
    ) -> Registration | None:
        """The registration of `add_early`, unless it has failed."""
        return self._early.find(transactional_id, producer_id, epoch, participant)

    async def settle_early(self, transactional_id: str, producer_id: int, epoch: int) -> None:
        """Waits for the answers to `add_early`, and registers again what was not executed.  Raises as `add` does.  If
        one was refused, the coordinator refuses the next request of the producer, too."""
        if not self._early.is_confirmed(transactional_id, producer_id, epoch):
            return
        for early in tuple(self._early.of(producer_id)):
            if not early.registration.txn.done():
                await asyncio.wait([early.registration.txn])
            if isinstance(early.registration.txn.exception(), Unavailable):
                await self.add(transactional_id, producer_id, epoch, early.participants)
                self._early.remove(producer_id, early)

    async def join(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        participants: Sequence[Participant],
        is_wanted: Callable[[], bool],
    ) -> TxnId:
        """Registers participants with the open transaction, and never with the next one.  Epochs of older clients do
        not name a transaction, so it is looked up first; is_wanted: whether the client still waits then.
        Raises Unavailable, and as `verify` does."""
        txn = await self.verify(transactional_id, producer_id, epoch, [])
        if not is_wanted():
            raise Unavailable(f"{transactional_id!r}: the producer no longer waits for its request.")
        try:
            await self._registry.register(txn, participants)
        except (
            TransactionError,
            TransactionNotFound,
        ):  # it has ended since: is the producer fenced?
            await self.verify(transactional_id, producer_id, epoch, [])
            raise
        return txn

    async def verify(
        self, transactional_id: str, producer_id: int, epoch: int, participants: Sequence[Participant]
    ) -> TxnId:
        """Returns the open transaction if these are registered with it.  Raises TransactionsDisabled, and as
        TransactionalIds.verify does."""
        self._transactions.check_enabled()
        asked = self._loop.time()
        txn = await self.identities.verify(transactional_id, producer_id, epoch, participants)
        self._remember(transactional_id, producer_id, epoch, txn, participants, asked)
        return txn

    def cached_transaction(
        self, transactional_id: str, producer_id: int, epoch: int, participant: Participant
    ) -> TxnId | None:
        """The producer's open transaction, if the participant was registered with it recently.

        None if the transactional id is not the producer's, so that the coordinator refuses it: producer ids are not
        secret, since every batch contains one.
        """
        cached = self._open.get(producer_id)
        if cached is None or cached.epoch != epoch or cached.transactional_id != transactional_id:
            return None
        return cached.txn if self._registry.is_registered(cached.txn, participant) else None

    def forget_all(self) -> None:
        """Redis may have lost transactions: the next batch of each producer is verified again."""
        self._open.clear()
        self._early.doubt_all()

    def forget(self, producer_id: int) -> None:
        cached = self._open.pop(producer_id, None)
        if cached is not None:
            self._registry.forget(cached.txn)

    async def end(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        commit: bool,
        bump: bool,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> tuple[int, int]:
        """Commits or aborts on every participant.  Returns the producer id and epoch for the next transaction.
        is_wanted: whether the client still waits.  Raises TransactionsDisabled, and as TransactionalIds.end does."""
        self._transactions.check_enabled()
        await self.settle_early(transactional_id, producer_id, epoch)
        self._early.doubt(producer_id)
        cached = self._open.get(producer_id)
        known = None if cached is None else (cached.txn, self._registry.registered(cached.txn))
        identified = await self.identities.end(transactional_id, producer_id, epoch, commit, bump, known, is_wanted)
        self.forget(producer_id)
        ended = await self._apply_decision(identified)
        if self._quotas.is_on:
            self._quotas.ended(transactional_id)
        self._early.confirm(transactional_id, *ended)
        return ended

    async def abort_hanging(self, topic: str, number: int, producer_id: int, epoch: int) -> None:
        """Aborts the producer's open transaction on the partition, on all participants; without one it does nothing.
        Raises UnknownTopic, UnknownPartition, StaleEpoch, AlreadyCommitted (its commit is being applied)."""
        partition = await self._catalog.partition(topic, number)
        found = await partition.offsets.open_transaction(producer_id)
        if found is None:
            return
        txn, open_epoch = found
        if 0 <= epoch < open_epoch:
            raise StaleEpoch(f"Producer {producer_id} has epoch {open_epoch} there, not {epoch}.")
        try:
            await self._transactions.abort(txn)
        except TransactionNotFound:  # it hangs: its coordinator does not have it
            here = [Participant(topic, partition.topic_id, number)]
            who = Producer(producer_id, open_epoch, "")
            await self._transactions.apply(Decision(txn, TxnState.ABORTING, here, -1, who))

    async def forget_idle(self, now_ms: int) -> None:
        """Removes transactional ids that have expired; their next producer is treated as new."""
        before = now_ms - self._config.transactional_id_expiration_ms
        for coordinator in self._coordinators:
            for identity in await self.identities.all(coordinator):
                if identity.used_ms < before:
                    await self.identities.forget(coordinator, identity)

    async def describe_transaction(self, transactional_id: str) -> ListedTransaction:
        """Raises TransactionNotFound."""
        return await self._listing.of(transactional_id)

    async def list_transactions(self) -> list[ListedTransaction]:
        return await self._listing.all()

    async def _apply_decision(self, identified: ProducerIdentity) -> tuple[int, int]:
        if identified.decision is not None:
            await self._transactions.finish(identified.decision)
        return identified.producer_id, identified.epoch

    def _remember(
        self, name: str, producer_id: int, epoch: int, txn: TxnId, participants: Sequence[Participant], asked: float
    ) -> None:
        cached = self._open.get(producer_id)
        if cached is None or cached.txn != txn or cached.epoch != epoch:
            if cached is not None and cached.txn != txn:
                self._registry.forget(cached.txn)
            self._open[producer_id] = _OpenTransaction(name, epoch, txn)
            if len(self._open) > PRODUCERS_MAX:
                self._open.popitem(last=False)
        self._registry.remember(txn, participants, asked)
