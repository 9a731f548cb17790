"""The other side of a group commit, and a tick of the event loop."""

from __future__ import annotations

import asyncio
from typing import Any

from redis_ledger.store.group_commit import GroupCommit


class Other:
    """The other side: records sent items, and answers on request."""

    def __init__(self, **options: Any) -> None:
        self.sent: list[list[str]] = []
        self.settled: list[list[str]] = []
        self.errors: list[BaseException | None] = []
        self.flying: asyncio.Future[None] | None = None
        self.refuses: Exception | None = None
        self.group: GroupCommit[str] = GroupCommit(self._send, self._settle, **options)

    def _send(self, items: list[str]) -> asyncio.Future[None]:
        assert self.flying is None, "two calls in flight"
        if self.refuses is not None:
            raise self.refuses
        self.sent.append(items)
        self.flying = asyncio.get_running_loop().create_future()
        return self.flying

    def _settle(self, items: list[str], done: asyncio.Future[None]) -> None:
        self.settled.append(items)
        self.errors.append(done.exception())

    def add(self, items: str, size: int = 1, *, lazy: bool = False) -> None:
        for item in items:
            self.group.add(item, size, lazy=lazy)

    async def answer(self, error: Exception | None = None) -> None:
        flying, self.flying = self.flying, None
        assert flying is not None, "nothing in flight"
        flying.set_result(None) if error is None else flying.set_exception(error)
        await turn()

    @property
    def batches(self) -> list[str]:
        return ["".join(items) for items in self.sent]


async def turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)
