"""The barrier of durability `replicas`: which replies a round releases, with a Redis that replies on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from redis_ledger.store import replication
from redis_ledger.store.address import Address
from redis_ledger.store.connection import RedisCall
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.replication import ReplicationBarrier
from redis_ledger.store.replication_info import ReplicationInfo
from tests.support.busy_machine import within

INFO = (
    b"role:master\r\nmaster_replid:one\r\nconnected_slaves:2\r\nslave0:state=online,lag=0\r\nslave1:state=online,lag=0"
)


class Primary:
    """The acknowledgement connections of a barrier.  rounds: the replies to each round that was sent."""

    is_open = True

    def __init__(self) -> None:
        self.rounds: list[asyncio.Future[Sequence[Any]]] = []
        self.released: list[Any] = []
        self.barrier = ReplicationBarrier(
            Address(),
            CopiesRequired(2, 60_000),
            ReplicationInfo(True, "one", (0, 0)),
            lambda attempt: b"marker",
            lambda call, reply: self.released.append(reply),
            lambda why: None,
            lambda stop: None,
        )

    async def ask(self, connection: Any, commands: Sequence[Any]) -> Sequence[Any]:
        self.rounds.append(asyncio.get_running_loop().create_future())
        return await self.rounds[-1]

    def hold(self, reply: str, in_sync: int = 0) -> RedisCall:
        call = RedisCall(asyncio.get_running_loop().create_future(), b"", -1, True)
        call.in_sync = in_sync
        self.barrier.hold(call, reply)
        return call

    async def sent(self, count: int) -> None:
        """Until so many rounds are under way or over."""
        async with within(5):
            while len(self.rounds) < count:
                await asyncio.sleep(0)

    async def confirm(self, number: int, replicas: int = 1) -> None:
        self.rounds[number].set_result([b"OK", replicas, INFO])
        for _ in range(5):  # until the round has read its replies
            await asyncio.sleep(0)

    def close(self) -> None:
        """As a connection; the barrier is closed by itself."""


@pytest.fixture
async def primary(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Primary]:
    made = Primary()

    async def connected(*_: Any) -> Any:
        return made

    monkeypatch.setattr(replication, "dial", connected)
    monkeypatch.setattr(replication, "handshake", connected)
    monkeypatch.setattr(replication, "ask", made.ask)
    yield made
    made.barrier.close()


async def test_a_round_releases_only_what_had_arrived_when_its_marker_was_sent(primary):
    primary.hold("a")
    primary.hold("b")
    await primary.sent(1)
    primary.hold("c")  # Redis may have executed it after the marker
    await primary.confirm(0)
    assert primary.released == ["a", "b"]
    await primary.sent(2)
    assert primary.released == ["a", "b"]
    await primary.confirm(1)
    assert primary.released == ["a", "b", "c"]


async def test_a_round_with_too_few_replicas_releases_nothing(primary):
    primary.hold("a")
    await primary.sent(1)
    await primary.confirm(0, replicas=0)
    assert primary.released == []
    await primary.sent(2)
    await primary.confirm(1)
    assert primary.released == ["a"]


async def test_replies_that_need_more_copies_wait_for_a_round_of_their_own(primary):
    primary.hold("of the store")
    primary.hold("of a topic", in_sync=3)
    await primary.sent(2)
    await primary.confirm(0)
    assert primary.released == ["of the store"]
    await primary.confirm(1, replicas=2)
    assert primary.released == ["of the store", "of a topic"]


async def test_held_calls_are_returned_in_order_of_arrival_whatever_they_wait_for(primary):
    calls = [primary.hold(str(n), in_sync=2 + n % 2) for n in range(6)]
    assert primary.barrier.close() == calls
    assert primary.released == []
