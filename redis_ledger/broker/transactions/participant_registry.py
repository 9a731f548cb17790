"""Which participants of which transactions this broker has registered with their coordinators.

First touch registers and waits; concurrent first touches share one request (CL-03); later touches cost a look-up.  A
registration is the verification the partition's hard fence asks for, so one older than a fifth of a tombstone's life
is made again.  Source: PIP-31 steps 2.1 and 2.3; docs/decisions/0006.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from redis_ledger.config import Config
from redis_ledger.ids import TxnId
from redis_ledger.txn.coordinator import Coordinators, Participant

TRANSACTIONS_MAX = 50_000  # remembered; forgetting one only means registering again


class ParticipantRegistry:
    def __init__(self, coordinators: Coordinators, config: Config) -> None:
        self._coordinators = coordinators
        self._valid_s = config.tombstone_ms / 5000
        self._known: OrderedDict[TxnId, dict[Participant, float]] = OrderedDict()
        self._under_way: dict[tuple[TxnId, Participant], asyncio.Future[None]] = {}
        self._loop = asyncio.get_running_loop()

    async def register(self, txn: TxnId, participants: Sequence[Participant]) -> None:
        """Every participant is durably known to the coordinator when this returns.  Raises as Coordinators.add does."""
        now = self._loop.time()
        known = self._known.get(txn)
        if known is None:
            known = self._known[txn] = {}
            if len(self._known) > TRANSACTIONS_MAX:
                self._known.popitem(last=False)
        missing = [p for p in dict.fromkeys(participants) if known.get(p, -1.0e9) < now - self._valid_s]
        if not missing:
            return
        waits = [self._under_way[txn, p] for p in missing if (txn, p) in self._under_way]
        ours = [p for p in missing if (txn, p) not in self._under_way]
        if ours:
            await self._add(txn, ours, known)
        if waits:
            await asyncio.wait(waits)
            if any(wait.cancelled() for wait in waits):  # who asked has gone away, and its question with it
                await self.register(txn, participants)
                return
        for wait in waits:
            wait.result()

    def forget(self, txn: TxnId) -> None:
        self._known.pop(txn, None)

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
                future.exception()  # told to whoever waits for it, if anybody does
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
