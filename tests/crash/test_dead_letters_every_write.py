"""A broker dies at any write of a move: the message is in exactly one topic.  A broker dies at any write of a topic's
deletion: no dead-letter rule remains for a later topic of that name."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from functools import partial
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.subscriptions.dead_letter_moves import TOPIC
from redis_ledger.broker.types import NewRecord
from redis_ledger.config import Config
from redis_ledger.errors import TopicExists
from tests.support.broker import SHORT, backlog, eventually, one, receive_values, records, vanish, visible
from tests.support.crashing_store import CutStore, When

SETTINGS: dict[str, Any] = {**SHORT, "default_timeout_ms": 300, "ack_timeout_ms": 300}
WRITES_MIN = 4  # lease, begin, append or hold, end


async def until_cut(step: Awaitable[Any], store: CutStore) -> bool:
    """Returns whether the step completed.  An interrupted one tries to abort, waits for that too, and is stopped."""
    work, cut = asyncio.ensure_future(step), asyncio.ensure_future(store.cut.wait())
    await asyncio.wait({work, cut}, return_when=asyncio.FIRST_COMPLETED)
    is_done = work.done()
    while not work.done():
        work.cancel()
        await asyncio.sleep(0)
    cut.cancel()
    if is_done:
        work.result()
    return is_done


@contextlib.asynccontextmanager
async def dying_at(redis_url: str, prefix: str, number: int, when: When) -> AsyncIterator[tuple[Broker, CutStore]]:
    """A broker that is cut off before or after its write of that number, and gone at the end."""
    store = await CutStore.open(redis_url, prefix=prefix)
    assert isinstance(store, CutStore)
    dying = await Broker.open(store, Config(prefix=prefix, **SETTINGS))
    store.arm(number, when)
    yield dying, store
    await vanish(dying)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_move_cut_at_any_write_is_completed_once_by_the_next_receive(redis_url, prefix, when):
    is_done, n = False, 0
    async with one(redis_url, prefix, **SETTINGS) as other:
        for n in range(1, 30):
            source, dead = f"in{n}", f"dead{n}"
            await other.topics.create(source)
            await other.subscriptions.create(source, "work")
            await other.dead_letters.set(source, "work", 1, dead)
            await other.records.produce(source, records("bad", "good"))
            ids = list(await receive_values(other, source, "work"))
            await other.subscriptions.ack(source, "work", "c1", ids[1:])
            await other.subscriptions.nack(source, "work", "c1", ids[:1])
            async with dying_at(redis_url, prefix, n, when) as (dying, store):
                is_done = await until_cut(receive_values(dying, source, "work", "dies"), store)

            async def left(source: str = source) -> int:
                assert await receive_values(other, source, "work", "c2") == {}, "it was delivered once already"
                return await backlog(other, source, "work")

            assert await eventually(left, 0, 5.0) == 0, store.writes
            there = await eventually(partial(visible, other, dead), {0: ["bad"]})
            assert there == {0: ["bad"]}, store.writes
            if is_done:
                break
        assert is_done
        assert n > WRITES_MIN


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_retry_cut_at_any_write_is_completed_once_when_it_is_repeated(redis_url, prefix, when):
    """The client repeats its request with its Idempotency-Key, at another broker: the message waits exactly once."""
    is_done, n = False, 0
    async with one(redis_url, prefix, **SETTINGS) as other:
        for n in range(1, 30):
            source, retry = f"in{n}", f"retry{n}"
            await other.topics.create(source)
            await other.subscriptions.create(source, "work")
            await other.dead_letters.set(source, "work", 9, f"dead{n}", retry_topic=retry)
            await other.records.produce(source, records("a"))
            ids = list(await receive_values(other, source, "work", ack_timeout_ms=60_000))

            async def later(broker: Broker, source: str = source, ids: list[Any] = ids, n: int = n) -> Any:
                with broker.partition_fetch.budget() as budget:
                    return await broker.reconsume.later(source, "work", "c1", ids, 50, budget, nonce=f"n{n}")

            async with dying_at(redis_url, prefix, n, when) as (dying, store):
                is_done = await until_cut(later(dying), store)
            assert tuple(await later(other)) == (1, 0), store.writes
            assert await eventually(partial(visible, other, retry), {0: ["a"]}, 5.0) == {0: ["a"]}, store.writes
            assert await backlog(other, source, "work") == 0, store.writes
            if is_done:
                break
        assert is_done
        assert n > WRITES_MIN


@pytest.mark.parametrize("when", ["before", "after"])
async def test_replay_cut_at_any_write_is_completed_once_by_the_next_replay(redis_url, prefix, when):
    is_done, n = False, 0
    async with one(redis_url, prefix, **SETTINGS) as other:
        for n in range(1, 30):
            source, dead = f"in{n}", f"dead{n}"
            await other.topics.create(source)
            await other.topics.create(dead)
            await other.subscriptions.create(dead, "look")
            await other.subscriptions.create(source, "work")
            await other.dead_letters.set(source, "work", 1, dead)
            await other.records.produce(dead, [NewRecord(None, b"bad", [(TOPIC, source.encode())])])
            async with dying_at(redis_url, prefix, n, when) as (dying, store):
                is_done = await until_cut(dying.dead_letters.put_back(dead, "look", 10), store)

            async def left(dead: str = dead) -> int:
                await other.dead_letters.put_back(dead, "look", 10)
                return await backlog(other, dead, "look")

            assert await eventually(left, 0, 5.0) == 0, store.writes
            assert await eventually(partial(visible, other, source), {0: ["bad"]}) == {0: ["bad"]}, store.writes
            if is_done:
                break
        assert is_done
        assert n > WRITES_MIN


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_topic_whose_deletion_was_cut_at_any_write_leaves_no_rule_to_the_next_of_its_name(
    redis_url, prefix, when
):
    is_done, n = False, 0
    async with one(redis_url, prefix, **SETTINGS) as other:
        for n in range(1, 30):
            topic = f"in{n}"
            await other.topics.create(topic)
            await other.subscriptions.create(topic, "work")
            await other.dead_letters.set(topic, "work", 1, "dead")
            async with dying_at(redis_url, prefix, n, when) as (dying, store):
                is_done = await until_cut(dying.topics.delete(topic), store)
            try:
                await other.topics.create(topic)
            except TopicExists:
                assert (topic, "work") in other.dead_letters.rules.by_subscription, store.writes
            else:
                await other.dead_letters.rules.refresh()
                assert (topic, "work") not in other.dead_letters.rules.by_subscription, store.writes
            if is_done:
                break
        assert is_done
        assert n > 3, "marked, closed, unlinked, rules removed"
