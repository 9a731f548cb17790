"""Transaction coordinators, as an operator sees them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from redis_ledger.client._async.admin import transaction_text
from redis_ledger.client._async.transport import AsyncTransport, path
from redis_ledger.client.transaction_models import Coordinator, TransactionLogPage
from redis_ledger.ids import TxnId

PAGE = 1_000
CoordinatorList: TypeAlias = list[Coordinator]


class _Coordinators(msgspec.Struct):
    count: int
    coordinators: list[Coordinator]


class _Count(msgspec.Struct):
    count: int


class AsyncCoordinators:
    """await client.coordinators.get(3)"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> CoordinatorList:
        """All of them, with their statistics.

        sum(c.open for c in await client.coordinators.list())
        """
        found: list[Coordinator] = []
        while True:
            params = {"first": len(found), "limit": PAGE}
            page = await self._transport.call("GET", path("coordinators"), answer=_Coordinators, params=params)
            found += page.coordinators
            if not page.coordinators or len(found) >= page.count:
                return found

    async def get(self, number: int) -> Coordinator:
        """Raises CoordinatorNotFound.

        (await client.coordinators.get(3)).low_watermark
        """
        return await self._transport.call("GET", path("coordinators", number), answer=Coordinator)

    async def log(
        self, number: int, *, transaction: TxnId | str | None = None, first: int = 0, limit: int = 100
    ) -> TransactionLogPage:
        """A page of its transaction log, oldest first.  first: the entry to begin at, `next` of the page before.

        [r.kind for r in (await client.coordinators.log(3, transaction="3-3821040230400")).records]
        """
        params: dict[str, str | int] = {"first": first, "limit": limit}
        if transaction is not None:
            params["transaction"] = transaction_text(transaction)
        return await self._transport.call(
            "GET", path("coordinators", number, "log"), answer=TransactionLogPage, params=params
        )

    async def raise_count(self, count: int) -> int:
        """More coordinators, while brokers run; there can never be fewer.  Returns how many there are.

        await client.coordinators.raise_count(32)
        """
        return (await self._transport.call("PATCH", path("coordinators"), {"count": count}, answer=_Count)).count
