"""Registrations that a client is told of before Redis has answered them.

    AddPartitionsToTxn ─▶ sent to Redis ─▶ response: the client prepares its batch meanwhile
    Produce            ─▶ sent right behind it (ledger/registration.py)
    EndTxn             ─▶ waits for the answer

A refusal is then the answer of the next batch, or of the end.  It can only be that the producer was fenced, or that its
transaction timed out, since the identity was confirmed by the coordinator before.  A registration that Redis has not
executed is sent again.  Source: docs/decisions/0039.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from redis_ledger.ledger.registration import Registration
from redis_ledger.txn.coordinator import Participant

PRODUCERS_MAX = 50_000  # one that is forgotten waits for its next registration


class EarlyRegistration(NamedTuple):
    participants: Sequence[Participant]
    registration: Registration


class _Confirmed(NamedTuple):
    transactional_id: str
    epoch: int


class EarlyRegistrations:
    """Identities that their coordinators confirmed to this broker, and the registrations of their open transactions."""

    def __init__(self) -> None:
        self._confirmed: OrderedDict[int, _Confirmed] = OrderedDict()
        self._pending: dict[int, list[EarlyRegistration]] = {}

    def confirm(self, transactional_id: str, producer_id: int, epoch: int) -> None:
        """The identity is current, and the producer has no open transaction."""
        self._pending.pop(producer_id, None)
        self._confirmed[producer_id] = _Confirmed(transactional_id, epoch)
        self._confirmed.move_to_end(producer_id)
        if len(self._confirmed) > PRODUCERS_MAX:
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
