"""What a client of a run gets: its recorder, its choices, the addresses, and when to stop."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from typing import NamedTuple

from tests.sim.recorder import Recorder

PARTITIONS = 3
PLAIN, TXN, INPUT, LATER, DENSE, KEYS = "plain", "txn", "in", "later", "dense", "keys"
PIPELINES = {"execute": "out.execute", "step": "out.step", "chain": "out.chain", "rdk": "out.rdk"}  # → topic of outputs
TOPICS = (PLAIN, TXN, INPUT, LATER, DENSE, *PIPELINES.values(), KEYS)
NAMES = (*(f"k{number}" for number in range(8)), None)  # keys of records in KEYS, or none
PAUSE_S = 0.15


class Context(NamedTuple):
    """urls, kafka: the proxies in front of the brokers, as the client's host reaches them.  suffix: of all topics."""

    name: str
    recorder: Recorder
    chance: random.Random
    urls: list[str]
    kafka: str
    stopped: asyncio.Event
    suffix: str = ""

    def topic(self, name: str) -> str:
        return f"{name}{self.suffix}"

    @property
    def topics(self) -> list[str]:
        return [self.topic(name) for name in TOPICS]

    @property
    def is_on(self) -> bool:
        return not self.stopped.is_set()

    async def rounds(self, pause_s: float = PAUSE_S) -> AsyncIterator[int]:
        """Counts until the run stops the client, with pauses of varying length."""
        for number in itertools.count():
            if not self.is_on:
                return
            yield number
            await self.pause(pause_s)

    async def pause(self, pause_s: float) -> None:
        try:
            await asyncio.wait_for(self.stopped.wait(), self.chance.uniform(0.3, 1.7) * pause_s)
        except TimeoutError:
            return


class Values:
    """Values that no other writer uses: <writer>-<number>, spread over the partitions."""

    def __init__(self, writer: str, chance: random.Random) -> None:
        self.writer, self._chance, self._last = writer, chance, 0

    def some(self, most: int) -> list[list[int | str]]:
        """Returns partition and value of some records."""
        return [self.one(self._chance.randrange(PARTITIONS)) for _ in range(self._chance.randint(1, most))]

    def one(self, partition: int, suffix: str = "") -> list[int | str]:
        self._last += 1
        return [partition, f"{self.writer}-{self._last}{suffix}"]

    def of(self, source: str) -> str:
        """The output that a pipeline makes of a source; another one at each attempt."""
        self._last += 1
        return f"{source}>{self.writer}-{self._last}"
