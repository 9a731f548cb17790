"""A connection that is over its quota: when it is read again, on a clock of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redis_ledger.broker.client_memory import ClientMemory
from redis_ledger.kafka import connection as module
from redis_ledger.kafka.connection import Connection
from redis_ledger.kafka.listener import Listener
from redis_ledger.kafka.open_connections import OpenConnections


class Transport:
    def __init__(self) -> None:
        self.is_read = True

    def get_extra_info(self, name: str) -> object:
        return None

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


class Clock:
    """The time and the sleeps of a connection."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self._sleeping: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        self._sleeping.append((self.now + seconds, asyncio.get_running_loop().create_future()))
        await self._sleeping[-1][1]

    async def reach(self, now: float) -> None:
        self.now = now
        due = [each for each in self._sleeping if each[0] <= now]
        self._sleeping = [each for each in self._sleeping if each[0] > now]
        for _, sleeping in due:
            sleeping.set_result(None)
        await settled()


class Throttled:
    """A connection, and the throttle times that its answers get."""

    def __init__(self) -> None:
        config = SimpleNamespace(
            kafka_request_bytes_max=100, auth_required=False, kafka_connections_max=10, kafka_inflight_bytes_max=100
        )
        broker = SimpleNamespace(
            config=config, client_memory=ClientMemory(200, has_metrics=False), quotas=None,
            event_loop_lag=SimpleNamespace(is_doubtful=lambda now: False),
        )  # fmt: skip
        self.transport = Transport()
        self.connection = Connection(
            OpenConnections(cast(Any, broker)), cast(Listener, SimpleNamespace(name="plain", tls=None))
        )
        self.connection.connection_made(cast(Any, self.transport))

    async def answer(self, monkeypatch: pytest.MonkeyPatch, wait_s: float) -> None:
        """An answer to a request that was in flight."""
        monkeypatch.setattr(module, "charge", lambda *_: wait_s)
        self.connection._charge(cast(Any, SimpleNamespace(key=0)), 0, None)
        await settled()


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(**{**vars(time), "monotonic": lambda: made.now}))
    monkeypatch.setattr(module, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": made.sleep}))
    return made


@pytest.fixture
async def throttled(clock) -> AsyncIterator[Throttled]:
    made = Throttled()
    yield made
    made.connection.connection_lost(None)
    await settled()


async def test_a_connection_is_read_again_when_its_throttle_time_is_over_each_time(throttled, clock, monkeypatch):
    for begin in (1_000.0, 2_000.0):
        await clock.reach(begin)
        await throttled.answer(monkeypatch, 5.0)
        await clock.reach(begin + 4.9)
        assert not throttled.transport.is_read
        await clock.reach(begin + 5.0)
        assert throttled.transport.is_read


async def test_a_later_answer_extends_the_throttle_time_and_does_not_shorten_it(throttled, clock, monkeypatch):
    # Given two requests in flight, and the answer to the first is over the quota
    await throttled.answer(monkeypatch, 5.0)
    # When that to the second is over it by more
    await clock.reach(1_002.0)
    await throttled.answer(monkeypatch, 8.0)
    # and that to a third by less
    await clock.reach(1_003.0)
    await throttled.answer(monkeypatch, 1.0)
    # Then the connection is read again when the longest time is over
    for now in (1_004.0, 1_005.0, 1_009.9):
        await clock.reach(now)
        assert not throttled.transport.is_read
    await clock.reach(1_010.0)
    assert throttled.transport.is_read
