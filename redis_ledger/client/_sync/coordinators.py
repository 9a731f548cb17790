"""Transaction coordinators, as an operator sees them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from redis_ledger.client._sync.admin import transaction_text
from redis_ledger.client._sync.transport import Transport, path
from redis_ledger.client.transaction_models import Coordinator, TransactionLogPage
from redis_ledger.ids import TxnId

PAGE = 1_000
CoordinatorList: TypeAlias = list[Coordinator]


class _Coordinators(msgspec.Struct):
    count: int
    coordinators: list[Coordinator]


class _Count(msgspec.Struct):
    count: int


class Coordinators:
    """client.coordinators.get(3)"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> CoordinatorList:
        """All of them, with their statistics.

        sum(c.open for c in client.coordinators.list())
        """
        found: list[Coordinator] = []
        while True:
            params = {"first": len(found), "limit": PAGE}
            page = self._transport.call("GET", path("coordinators"), answer=_Coordinators, params=params)
            found += page.coordinators
            if not page.coordinators or len(found) >= page.count:
                return found

    def get(self, number: int) -> Coordinator:
        """Raises CoordinatorNotFound.

        (client.coordinators.get(3)).low_watermark
        """
        return self._transport.call("GET", path("coordinators", number), answer=Coordinator)

    def log(
        self, number: int, *, transaction: TxnId | str | None = None, first: int = 0, limit: int = 100
    ) -> TransactionLogPage:
        """A page of its transaction log, oldest first.  first: the entry to begin at, `next` of the page before.

        [r.kind for r in (client.coordinators.log(3, transaction="3-3821040230400")).records]
        """
        params: dict[str, str | int] = {"first": first, "limit": limit}
        if transaction is not None:
            params["transaction"] = transaction_text(transaction)
        return self._transport.call(
            "GET", path("coordinators", number, "log"), answer=TransactionLogPage, params=params
        )

    def raise_count(self, count: int) -> int:
        """More coordinators, while brokers run; there can never be fewer.  Returns how many there are.

        client.coordinators.raise_count(32)
        """
        return (self._transport.call("PATCH", path("coordinators"), {"count": count}, answer=_Count)).count
