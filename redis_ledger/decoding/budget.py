"""The budget of one request or answer, which the batches that are decoded for it spend; and turns on the event loop.

    request ─ Budget ─▶ batch: spends what it unpacks to, and its headers ─▶ batch ─▶ spent: refuse, or end the answer

So a request costs at most its budget and one batch, whose bounds are in records/budget.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter

from redis_ledger.config import Config
from redis_ledger.records.budget import Limits, too_large

TURN_S = 0.002  # work goes on for so long before others get a turn


class Pace:
    """Work of more than TURN_S on the event loop, with turns of others in between."""

    __slots__ = ("_began_s",)

    def __init__(self) -> None:
        self._began_s = perf_counter()

    @property
    def is_over(self) -> bool:
        """Whether it is the others' turn."""
        return perf_counter() - self._began_s > TURN_S

    async def rest(self) -> None:
        """Lets others go on if it is their turn."""
        if self.is_over:
            await asyncio.sleep(0)
            self._began_s = perf_counter()


class Budget:
    """Of one request or answer.  bytes_left, headers_left: below 0 once the last batch has cost more than was left.
    reserve: gets memory for all that the budget allows, before the first batch that is large is unpacked."""

    __slots__ = ("_reserve", "bytes_left", "bytes_max", "headers_left", "limits", "pace")

    def __init__(self, limits: Limits, bytes_max: int, reserve: Callable[[int], Awaitable[None]] | None = None) -> None:
        self.limits, self.pace, self._reserve = limits, Pace(), reserve
        self.bytes_max = self.bytes_left = bytes_max
        self.headers_left = limits.headers

    @classmethod
    def of(cls, config: Config) -> Budget:
        return cls(Limits.of(config), config.request_decoded_bytes_max)

    async def reserve(self) -> None:
        """Once.  Raises ClientMemoryFull."""
        reserve, self._reserve = self._reserve, None
        if reserve is not None:
            await reserve(self.bytes_max + self.limits.decoded_bytes)

    @property
    def spent_bytes(self) -> int:
        return self.bytes_max - self.bytes_left

    @property
    def is_spent(self) -> bool:
        return self.bytes_left <= 0 or self.headers_left <= 0

    def spend(self, decoded_bytes: int, headers: int) -> None:
        self.bytes_left -= decoded_bytes
        self.headers_left -= headers

    def check(self, config: Config) -> None:
        """Of a request: raises TooLargeToDecode when its batches together are too much."""
        if self.bytes_left < 0:
            raise too_large("The batches of this request unpack to more than {} bytes in all",
                            "request_decoded_bytes_max", config.request_decoded_bytes_max)  # fmt: skip
        if self.headers_left < 0:
            raise too_large("The batches of this request hold more than {} headers in all", "headers_max",
                            config.headers_max)  # fmt: skip
