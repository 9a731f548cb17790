"""Allocation of producer ids, and validation of those that clients send.

    coordinator 3   ... 4010  4011  4012 │ 4013 ...      4013: the next number, as of this broker's last reply
                    below: accepted                      from there on: read once, then refused

A client may use an allocated id only.  A batch written with an id that is allocated later would make the first batch
of its owner a duplicate.  No client may use the id of a request with an Idempotency-Key.  A partition compares the
owner of an id (lua/include/producers).  Source: KIP-98; docs/decisions/0022.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from redis_ledger.errors import CoordinatorNotFound, InvalidProducerId
from redis_ledger.ids import NO_PRODUCER, TxnId, is_keyed, keyed
from redis_ledger.txn.coordinator import Coordinators

OWNER_DIGITS = 12


@lru_cache(maxsize=10_000)
def owner_of(principal: str) -> str:
    """The principal of a producer id, as partitions store it."""
    return hashlib.sha256(principal.encode()).hexdigest()[:OWNER_DIGITS]


class ProducerIds:
    def __init__(self, coordinators: Coordinators) -> None:
        self._coordinators = coordinators

    async def allocate(self) -> int:
        """A new producer id."""
        return (await self._coordinators.allocate()).producer_id

    async def allocate_keyed(self) -> int:
        """A new producer id that no client can use."""
        return keyed(await self.allocate())

    async def check(self, producer_id: int) -> None:
        """Raises InvalidProducerId for an id that clients may not use.  Costs a round trip only for an id that was
        allocated after the newest reply of its coordinator."""
        if producer_id == NO_PRODUCER or self._is_known(producer_id):
            return
        if producer_id >= 0 and not is_keyed(producer_id) and await self._is_allocated(producer_id):
            return
        raise InvalidProducerId(f"Producer id {producer_id} was never allocated; get one with InitProducerId.")

    def _is_known(self, producer_id: int) -> bool:
        at = TxnId.of_producer(producer_id)
        if not 0 <= at.coordinator < len(self._coordinators):
            return False
        return at.serial < self._coordinators.of(at).following

    async def _is_allocated(self, producer_id: int) -> bool:
        """Allocates the next number: lower ones cannot be allocated later."""
        at = TxnId.of_producer(producer_id)
        if at.coordinator >= len(self._coordinators):
            await self._coordinators.refresh()  # another broker may have more
        try:
            await self._coordinators.of(at).submit("allocate", "")
        except CoordinatorNotFound:
            return False
        return self._is_known(producer_id)
