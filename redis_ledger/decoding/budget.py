"""The budget of one request or answer, which the batches that are decoded for it spend; and turns on the event loop.

    request ─ Budget ─▶ batch: spends what it unpacks to, and its headers ─▶ batch ─▶ spent: refuse, or end the answer
                 ├─▶ charge: its caller pays for the bytes, whatever API they were read by
                 └─▶ memory.py: holds what is unpacked until the request ends

So a request costs at most its budget and one batch, whose bounds are in records/budget.py.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Self

from redis_ledger.config import Config
from redis_ledger.decoding.memory import DecodingMemory
from redis_ledger.errors import DecodingBusy
from redis_ledger.records.budget import Limits, too_large

TURN_S = 0.002  # work runs this long before other tasks
Charge = Callable[[int], object]  # of decoded bytes
Reserve = Callable[[int], Awaitable[None]]  # of memory for an answer


class Pace:
    """Work of more than TURN_S on the event loop, with turns of others in between."""

    __slots__ = ("_began_s",)

    def __init__(self) -> None:
        self._began_s = perf_counter()

    @property
    def is_over(self) -> bool:
        """True if other tasks have to run."""
        return perf_counter() - self._began_s > TURN_S

    async def rest(self) -> None:
        """Lets other tasks run if it is time."""
        if perf_counter() - self._began_s > TURN_S:
            await asyncio.sleep(0)
            self._began_s = perf_counter()


class Budget:
    """Of one request or answer, which ends it.

    bytes_left, headers_left   below 0 once the last batch has cost more than was left
    held                       bytes of batches that are unpacked, or about to be
    is_cut                     a batch was left undecoded, for lack of memory beside those that are held
    reserve                    gets memory for all that the budget allows, before the first large batch is unpacked
    """

    __slots__ = (
        "_charge", "_is_waiting", "_memory", "_reserve", "bytes_left", "bytes_max", "headers_left", "held", "is_cut",
        "limits", "pace",
    )  # fmt: skip

    def __init__(
        self,
        limits: Limits,
        bytes_max: int,
        memory: DecodingMemory | None = None,
        charge: Charge | None = None,
        reserve: Reserve | None = None,
    ) -> None:
        self.limits, self.pace = limits, Pace()
        self.bytes_max = self.bytes_left = bytes_max
        self.headers_left = limits.headers
        self._memory, self._charge, self._reserve = memory or DecodingMemory(sys.maxsize), charge, reserve
        self.held, self.is_cut, self._is_waiting = 0, False, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

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
        return self.bytes_left <= 0 or self.headers_left <= 0 or self.is_cut

    def spend(self, decoded_bytes: int, headers: int) -> None:
        self.bytes_left -= decoded_bytes
        self.headers_left -= headers
        if self._charge is not None and decoded_bytes:
            self._charge(decoded_bytes)

    def check(self, config: Config) -> None:
        """Of a request: raises TooLargeToDecode when its batches together are too much."""
        if self.bytes_left < 0:
            raise too_large("The batches of this request unpack to more than {} bytes in all",
                            "request_decoded_bytes_max", config.request_decoded_bytes_max)  # fmt: skip
        if self.headers_left < 0:
            raise too_large("The batches of this request hold more than {} headers in all", "headers_max",
                            config.headers_max)  # fmt: skip

    async def take(self, count: int) -> None:
        """Takes memory for a batch.  Raises DecodingBusy: at once if some is held already, else after a wait."""
        if not self._memory.take_now(count):
            if self.held or self._is_waiting:
                self.is_cut = True
                raise DecodingBusy(decoded_bytes_max=self._memory.bytes_max)
            self._is_waiting = True
            try:
                await self._memory.take(count)
            finally:
                self._is_waiting = False
        self.held += min(count, self._memory.bytes_max)

    def give(self, count: int) -> None:
        """Returns memory that a batch did not need, or no longer needs."""
        count = min(count, self.held)
        self.held -= count
        self._memory.give(count)

    def end(self) -> None:
        self.give(self.held)


class Decoding:
    """A broker's limits for decoding: of a batch, and the memory that all requests share."""

    def __init__(self, config: Config) -> None:
        self.limits = Limits.of(config)
        self._request_bytes_max = config.request_decoded_bytes_max
        self.memory = DecodingMemory(
            max(config.decoded_bytes_max or 2 * config.request_decoded_bytes_max, config.batch_decoded_bytes_max)
        )

    def budget(
        self, bytes_max: int | None = None, charge: Charge | None = None, reserve: Reserve | None = None
    ) -> Budget:
        """bytes_max: of one request, unless given."""
        most = self._request_bytes_max if bytes_max is None else bytes_max
        return Budget(self.limits, most, self.memory, charge, reserve)
