"""A cache of the participants that this broker has registered with the coordinators of their transactions.

The first use of a participant registers it and waits; concurrent first uses share one request (CL-03); later uses cost
a look-up.  A partition accepts transactional batches only after this verification, so a registration is repeated when
it is older than a fifth of a tombstone's lifetime.  Source: PIP-31 steps 2.1 and 2.3; docs/decisions/0006, 0039.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from redis_ledger.config import Config
from redis_ledger.ids import TxnId
from redis_ledger.ledger.registration import Registration
from redis_ledger.txn.coordinator import Coordinators, Participant

TRANSACTIONS_MAX = 50_000  # cached; evicting one only means registering it again
NEVER_S = -1.0e9
CONFIRMED_MAX = 50_000  # producers; one that is forgotten waits for its next registration


class ParticipantRegistry:
    def __init__(self, coordinators: Coordinators, config: Config) -> None:
        self._coordinators = coordinators
        self._valid_s = config.tombstone_ms / 5000
        self._known: OrderedDict[TxnId, dict[Participant, float]] = OrderedDict()
        self._under_way: dict[tuple[TxnId, Participant], asyncio.Future[None]] = {}
        self._loop = asyncio.get_running_loop()

    async def register(self, txn: TxnId, participants: Sequence[Participant]) -> None:
        """Registers participants durably with the coordinator.  Raises as Coordinators.add does."""
        now = self._loop.time()
        known = self._participants_of(txn)
        missing = [p for p in dict.fromkeys(participants) if known.get(p, NEVER_S) < now - self._valid_s]
        if not missing:
            return
        waits = [self._under_way[txn, p] for p in missing if (txn, p) in self._under_way]
        ours = [p for p in missing if (txn, p) not in self._under_way]
        if ours:
            await self._add(txn, ours, known)
        if waits:
            await asyncio.wait(waits)
            if any(wait.cancelled() for wait in waits):  # the caller that sent the request was cancelled
                await self.register(txn, participants)
                return
        for wait in waits:
            wait.result()

    def is_registered(self, txn: TxnId, participant: Participant) -> bool:
        """Whether this broker has registered it recently."""
        registered = self._known.get(txn)
        return registered is not None and registered.get(participant, NEVER_S) >= self._loop.time() - self._valid_s

    def knows(self, txn: TxnId) -> bool:
        """Whether this broker has registered participants, and has not ended the transaction."""
        return txn in self._known

    def registered(self, txn: TxnId) -> Iterable[Participant]:
        """The participants that this broker has registered; other brokers may have registered more."""
        return self._known.get(txn, ())

    def remember(self, txn: TxnId, participants: Sequence[Participant], asked_s: float) -> None:
        """Adds participants that the coordinator has confirmed.  asked_s: when the request was sent (loop time)."""
        registered = self._participants_of(txn)
        for participant in participants:
            registered[participant] = asked_s

    def forget(self, txn: TxnId) -> None:
        self._known.pop(txn, None)

    def forget_all(self) -> None:
        """Redis may have lost registrations: every participant is registered again."""
        self._known.clear()

    def _participants_of(self, txn: TxnId) -> dict[Participant, float]:
        known = self._known.get(txn)
        if known is None:
            known = self._known[txn] = {}
            if len(self._known) > TRANSACTIONS_MAX:
                self._known.popitem(last=False)
        return known

    async def _add(self, txn: TxnId, participants: list[Participant], known: dict[Participant, float]) -> None:
        future: asyncio.Future[None] = self._loop.create_future()
        for participant in participants:
            self._under_way[txn, participant] = future
        asked = self._loop.time()
        try:
            await self._coordinators.add(txn, participants)
        except BaseException as error:
            if isinstance(error, Exception):
                future.set_exception(error)
                future.exception()  # marks it as retrieved: possibly no other caller waits
            else:
                future.cancel()
            raise
        else:
            future.set_result(None)
            for participant in participants:
                known[participant] = asked
        finally:
            for participant in participants:
                del self._under_way[txn, participant]


class EarlyRegistration(NamedTuple):
    participants: Sequence[Participant]
    registration: Registration


class _Confirmed(NamedTuple):
    transactional_id: str
    epoch: int


class EarlyRegistrations:
    """Registrations whose requests are answered before Redis has answered them.

        AddPartitionsToTxn ─▶ sent to Redis ─▶ response: the client prepares its batch meanwhile
        Produce            ─▶ sent right behind it (ledger/registration.py)
        EndTxn             ─▶ waits for the answer

    A refusal is then the answer of the next batch, or of the end.  It can only be that the producer was fenced, or that
    its transaction timed out, since its identity was confirmed by the coordinator before.  A registration that Redis
    has not executed is sent again.
    """

    def __init__(self) -> None:
        self._confirmed: OrderedDict[int, _Confirmed] = OrderedDict()
        self._pending: dict[int, list[EarlyRegistration]] = {}

    def confirm(self, transactional_id: str, producer_id: int, epoch: int) -> None:
        """The identity is current, and the producer has no open transaction."""
        self._pending.pop(producer_id, None)
        self._confirmed[producer_id] = _Confirmed(transactional_id, epoch)
        self._confirmed.move_to_end(producer_id)
        if len(self._confirmed) > CONFIRMED_MAX:
            self.doubt(next(iter(self._confirmed)))

    def doubt(self, producer_id: int) -> None:
        """The identity may have been replaced."""
        self._confirmed.pop(producer_id, None)
        self._pending.pop(producer_id, None)

    def doubt_all(self) -> None:
        self._confirmed.clear()
        self._pending.clear()

    def is_confirmed(self, transactional_id: str, producer_id: int, epoch: int) -> bool:
        return self._confirmed.get(producer_id) == (transactional_id, epoch)

    def add(self, producer_id: int, early: EarlyRegistration) -> None:
        self._pending.setdefault(producer_id, []).append(early)

    def of(self, producer_id: int) -> Sequence[EarlyRegistration]:
        return self._pending.get(producer_id, ())

    def remove(self, producer_id: int, early: EarlyRegistration) -> None:
        """It was sent again."""
        if early in (pending := self._pending.get(producer_id, [])):
            pending.remove(early)

    def find(
        self, transactional_id: str, producer_id: int, epoch: int, participant: Participant
    ) -> Registration | None:
        """The registration of the participant, unless it has failed."""
        if not self._pending or not self.is_confirmed(transactional_id, producer_id, epoch):
            return None
        for participants, registration in self.of(producer_id):
            if participant in participants and registration.error() is None:
                return registration
        return None
