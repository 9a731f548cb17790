"""The queue of waiting receives, with leases that are answered on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redis_ledger.broker.subscriptions.long_polls import Leased, LongPolls
from redis_ledger.clock import ManualClock
from redis_ledger.cursor.scripts import Received
from redis_ledger.ledger.waiters import Listener, Waiters

PARTITION: Any = SimpleNamespace(topic_id="t", number=0, keys=SimpleNamespace(wake=b"wake"))
NOTHING = Received([], 0, 0, 0, False, -1)


class WakeUps:
    """Waiters with one listener."""

    def __init__(self) -> None:
        self.listener = Listener(committed=True)

    @asynccontextmanager
    async def listen(self, partitions: Sequence[Any], *, committed: bool) -> AsyncIterator[Listener]:
        yield self.listener


class Consumer:
    """One receive.  leases: the attempts to lease that were begun; released: the messages that it has handed back."""

    def __init__(self) -> None:
        self.leases: list[asyncio.Future[Leased]] = []
        self.released: list[Any] = []
        self.is_closed = False

    async def lease(self, partitions: Sequence[Any]) -> Leased:
        if self.is_closed:
            return Leased([], {0: NOTHING}, False)
        self.leases.append(asyncio.get_running_loop().create_future())
        return await self.leases[-1]

    async def release(self, messages: Sequence[Any]) -> None:
        self.released += messages

    def answer(self, *messages: Any) -> None:
        self.leases[-1].set_result(Leased([*messages], {0: NOTHING}, False))


class Subscription:
    def __init__(self) -> None:
        self.wake_ups = WakeUps()
        self._polls = LongPolls(cast("Waiters", self.wake_ups), ManualClock())
        self._receives: list[tuple[Consumer, asyncio.Task[list[Any]]]] = []

    async def receive(self, consumer: Any) -> asyncio.Task[list[Any]]:
        task = asyncio.create_task(self._polls.wait("s", [PARTITION], 10, 60, consumer))
        self._receives.append((consumer, task))
        await settled()
        return task

    async def wake(self) -> None:
        self.wake_ups.listener.wake(PARTITION.keys.wake)
        await settled()

    async def close(self) -> None:
        """Ends what a failed test has left."""
        for consumer, task in self._receives:
            consumer.is_closed = True
            if consumer.leases and not consumer.leases[-1].done():
                consumer.answer()
            task.cancel()
        await asyncio.gather(*(task for _, task in self._receives), return_exceptions=True)


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
async def subscription() -> AsyncIterator[Subscription]:
    made = Subscription()
    yield made
    await made.close()


async def test_a_wake_up_during_an_attempt_that_finds_nothing_begins_another_one(subscription):
    consumer = Consumer()
    received = await subscription.receive(consumer)
    await subscription.wake()  # the message has come after the attempt
    consumer.answer()
    await settled()
    assert len(consumer.leases) == 2
    consumer.answer("message")
    assert await received == ["message"]


async def test_without_a_wake_up_there_is_one_attempt(subscription):
    consumer = Consumer()
    received = await subscription.receive(consumer)
    consumer.answer()
    await settled()
    assert len(consumer.leases) == 1
    await subscription.wake()
    consumer.answer("message")
    assert await received == ["message"]


async def test_messages_that_are_leased_for_a_cancelled_receive_are_handed_back(subscription):
    consumer = Consumer()
    received = await subscription.receive(consumer)
    received.cancel()
    await settled()
    consumer.answer("message")
    with pytest.raises(asyncio.CancelledError):
        await received
    assert consumer.released == ["message"]


async def test_a_receive_that_found_nothing_keeps_its_place_in_the_queue(subscription):
    first, second = Consumer(), Consumer()
    receives = [await subscription.receive(consumer) for consumer in (first, second)]
    first.answer()
    await settled()
    await subscription.wake()
    assert (len(first.leases), len(second.leases)) == (2, 0)
    first.answer("one")
    assert await receives[0] == ["one"]
    await subscription.wake()
    second.answer("two")
    assert await receives[1] == ["two"]
