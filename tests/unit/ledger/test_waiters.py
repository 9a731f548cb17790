"""Waiting readers whose subscription is under way, with a Redis that answers SUBSCRIBE when the test lets it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redis_ledger.errors import StoreUnavailable
from redis_ledger.ledger.partition_offsets import PartitionHead
from redis_ledger.ledger.waiters import Waiters
from redis_ledger.store.keys import PartitionKeys

FIRST, SECOND = (cast(PartitionKeys, SimpleNamespace(wake=name, state=name + b":state")) for name in (b"a", b"b"))
EMPTY = PartitionHead(0, 0, 0, 0, 0, 0, 0)
SOON_S = 30.0


class Redis:
    """Partitions that publish to their subscribers.  replies: of the SUBSCRIBEs under way, by channel."""

    topology = SimpleNamespace(copies=None)

    def __init__(self) -> None:
        self.ends: dict[bytes, int] = {}
        self.replies: dict[bytes, asyncio.Future[None]] = {}
        self.subscribes: list[bytes] = []
        self._subscribers: dict[bytes, Callable[[bytes], None]] = {}

    async def subscribe(
        self, channel: bytes, on_message: Callable[[bytes], None], on_lost: object
    ) -> Callable[[], None]:
        self.subscribes.append(channel)
        self.replies[channel] = asyncio.get_running_loop().create_future()
        await self.replies[channel]
        self._subscribers[channel] = on_message
        return lambda: None

    def append(self, keys: PartitionKeys) -> None:
        end = self.ends[keys.wake] = self.ends.get(keys.wake, 0) + 1
        if keys.wake in self._subscribers:
            self._subscribers[keys.wake](b"0 %d %d" % (end, end))


class Readers:
    """Reads until there are records, as long polls do: listens, reads the state, and waits if there is nothing."""

    def __init__(self, redis: Redis, waiters: Waiters) -> None:
        self._redis, self._waiters = redis, waiters
        self.inside = 0
        self._tasks: list[asyncio.Task[int]] = []

    async def begin(self, *partitions: PartitionKeys) -> asyncio.Task[int]:
        self._tasks.append(asyncio.create_task(self._read(partitions)))
        await settled()
        return self._tasks[-1]

    async def _read(self, partitions: Sequence[PartitionKeys]) -> int:
        async with self._waiters.listen(partitions, committed=True) as listener:
            self.inside += 1
            while not (found := sum(self._redis.ends.get(keys.wake, 0) for keys in partitions)):
                assert await listener.wait(SOON_S)
        return found

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def redis() -> Redis:
    return Redis()


@pytest.fixture
async def waiters(redis) -> AsyncIterator[Waiters]:
    made = Waiters(cast(Any, redis))
    made._task.cancel()  # the check once a second: what only it finds is missed here
    yield made
    await made.close()


@pytest.fixture
async def readers(redis, waiters) -> AsyncIterator[Readers]:
    made = Readers(redis, waiters)
    yield made
    await made.close()


async def test_a_second_reader_waits_for_the_subscription_of_the_first(redis, readers):
    # Given two readers of a partition, and one SUBSCRIBE under way
    first, second = await readers.begin(FIRST), await readers.begin(FIRST)
    assert redis.subscribes == [b"a"]
    assert readers.inside == 0
    # When a record is appended before its reply
    redis.append(FIRST)
    await settled()
    assert readers.inside == 0
    redis.replies[b"a"].set_result(None)
    await settled()
    # Then both read it
    assert (first.done(), second.done()) == (True, True)
    assert (first.result(), second.result()) == (1, 1)


async def test_a_second_reader_waits_for_every_partition_that_is_not_subscribed(redis, readers):
    # Given a partition that is subscribed, and another whose SUBSCRIBE is under way
    await readers.begin(FIRST)
    redis.replies[b"a"].set_result(None)
    await readers.begin(SECOND)
    both = await readers.begin(FIRST, SECOND)
    assert readers.inside == 1
    # When a record is appended before the reply, then the reader of both reads it
    redis.append(SECOND)
    redis.replies[b"b"].set_result(None)
    await settled()
    assert both.done()
    assert both.result() == 1
    assert redis.subscribes == [b"a", b"b"]


async def test_a_reader_waits_for_the_subscription_of_a_partition_that_is_followed(redis, waiters, readers):
    waiters.follow(FIRST)
    reader = await readers.begin(FIRST)
    assert readers.inside == 0
    redis.append(FIRST)
    redis.replies[b"a"].set_result(None)
    await settled()
    assert (reader.done(), redis.subscribes) == (True, [b"a"])


async def test_readers_of_a_subscribed_partition_enter_at_once_and_all_are_woken(redis, readers):
    first = await readers.begin(FIRST)
    redis.replies[b"a"].set_result(None)
    later = [await readers.begin(FIRST) for _ in range(2)]
    assert readers.inside == 3
    redis.append(FIRST)
    await settled()
    assert [each.done() for each in (first, *later)] == [True] * 3
    assert redis.subscribes == [b"a"]


async def test_a_subscribe_that_fails_fails_both_readers_and_the_next_one_subscribes_again(redis, readers):
    first, second = await readers.begin(FIRST), await readers.begin(FIRST)
    redis.replies[b"a"].set_exception(StoreUnavailable())
    await settled()
    assert isinstance(first.exception(), StoreUnavailable)
    assert isinstance(second.exception(), StoreUnavailable)
    third = await readers.begin(FIRST)
    assert redis.subscribes == [b"a", b"a"]
    redis.replies[b"a"].set_result(None)
    await settled()
    redis.append(FIRST)
    await settled()
    assert third.done()
    assert third.result() == 1


async def test_a_head_that_was_read_while_the_subscription_was_under_way_is_not_cached(redis, waiters):
    """It would not follow the appends that are not published to this broker yet."""
    waiters.follow(FIRST)
    await settled()
    mark = waiters.mark(FIRST)
    redis.append(FIRST)
    redis.replies[b"a"].set_result(None)
    await settled()
    waiters.learn(mark, EMPTY)
    assert waiters.head(FIRST) is None
    waiters.learn(waiters.mark(FIRST), EMPTY)
    assert waiters.head(FIRST) == EMPTY
