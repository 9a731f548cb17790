"""Concurrent creation, deletion and growth of subscriptions and topics."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.cursor import registration
from redis_ledger.errors import TopicExists, UnknownSubscription, UnknownTopic
from tests.support.broker import receive_values, records, two


@pytest.fixture
async def pair(redis_url, prefix):
    async with two(redis_url, prefix) as brokers:
        await brokers[0].topics.create("t", 3)
        await brokers[1].catalog.get("t")
        yield brokers


async def write(broker, label, partitions=3):
    for number in range(partitions):
        await broker.records.produce("t", records(f"{label}{number}", partition=number))


class Held:
    """A function of `registration` that waits, in one broker, before it does its work on another partition than 0."""

    def __init__(self, monkeypatch, name, broker):
        self._real, self._store = getattr(registration, name), broker.store
        self.go_on, self.reached = asyncio.Event(), asyncio.Event()
        monkeypatch.setattr(registration, name, self)

    async def __call__(self, store, keys, *args, **more):
        if store is self._store and not keys.state.endswith(b":0}:state"):
            self.reached.set()
            await self.go_on.wait()
        return await self._real(store, keys, *args, **more)


async def test_records_after_a_create_are_delivered_also_with_concurrent_creates(pair, monkeypatch):
    first, second = pair
    held = Held(monkeypatch, "make", second)
    late = asyncio.create_task(second.subscriptions.create("t", "s", "shared", "latest"))
    await held.reached.wait()
    await first.subscriptions.create("t", "s", "shared", "latest")
    await write(first, "m")
    held.go_on.set()
    await late
    assert sorted((await receive_values(first, "t", "s")).values()) == ["m0", "m1", "m2"]


async def test_a_delete_that_is_late_leaves_a_subscription_that_was_made_after_it(pair, monkeypatch):
    first, second = pair
    await second.subscriptions.create("t", "s", "shared", "latest")
    await write(first, "before")
    held = Held(monkeypatch, "delete", second)
    late = asyncio.create_task(second.subscriptions.delete("t", "s"))
    await held.reached.wait()
    await first.subscriptions.create("t", "s", "shared", "latest")
    await write(first, "m")
    held.go_on.set()
    await late
    assert sorted((await receive_values(first, "t", "s")).values()) == ["m0", "m1", "m2"]


async def test_a_create_during_which_the_subscription_is_deleted_makes_it_again_and_whole(pair, monkeypatch):
    first, second = pair
    held = Held(monkeypatch, "make", second)
    late = asyncio.create_task(second.subscriptions.create("t", "s", "shared", "latest"))
    await held.reached.wait()
    await first.subscriptions.delete("t", "s")
    held.go_on.set()
    await late
    await write(first, "m")
    assert sorted((await receive_values(first, "t", "s")).values()) == ["m0", "m1", "m2"]


async def test_a_receive_makes_no_cursor_of_a_subscription_that_is_deleted_meanwhile(pair, monkeypatch):
    first, second = pair
    await first.subscriptions.create("t", "s")
    await first.topics.grow("t", 4)
    await second.catalog.refresh()
    held = Held(monkeypatch, "make", second)
    late = asyncio.create_task(second.subscriptions.receive("t", "s", partitions=[3]))
    await held.reached.wait()
    await first.subscriptions.delete("t", "s")
    held.go_on.set()
    with pytest.raises(UnknownSubscription):
        await late
    assert await first.store.command("KEYS", f"{first.store.prefix}:*:sub:s*") == []


async def test_deleting_again_removes_what_a_delete_that_was_cut_short_left(pair):
    first, second = pair
    await first.subscriptions.create("t", "s")
    register = await first.catalog.partition("t", 0)
    await registration.delete(first.store, register.keys, register.topic_id, "s")
    with pytest.raises(UnknownSubscription):
        await second.subscriptions.delete("t", "s")
    assert await first.store.command("KEYS", f"{first.store.prefix}:*:sub:s*") == []


async def test_a_subscription_from_the_latest_record_loses_nothing_of_partitions_added_while_it_is_made(
    pair, monkeypatch
):
    first, second = pair
    held = Held(monkeypatch, "make", second)
    late = asyncio.create_task(second.subscriptions.create("t", "s", "shared", "latest"))
    await held.reached.wait()
    await first.topics.grow("t", 5)
    held.go_on.set()
    await late
    await write(first, "m", 5)
    await second.catalog.refresh()
    assert sorted((await receive_values(second, "t", "s")).values()) == [f"m{n}" for n in range(5)]


async def test_a_partition_that_a_create_has_not_reached_begins_where_the_subscription_does(pair, monkeypatch):
    first, second = pair
    await write(first, "before")
    held = Held(monkeypatch, "make", second)
    late = asyncio.create_task(second.subscriptions.create("t", "s", "shared", "latest"))
    await held.reached.wait()
    assert await receive_values(first, "t", "s") == {}  # makes the cursors that are missing
    await write(first, "m")
    held.go_on.set()
    await late
    assert sorted((await receive_values(second, "t", "s")).values()) == ["m0", "m1", "m2"]


async def test_creates_and_deletes_at_random_leave_all_or_nothing(pair):
    for _ in range(20):
        acts = [
            broker.subscriptions.create("t", "s", "shared") if n % 3 else broker.subscriptions.delete("t", "s")
            for n, broker in enumerate(pair * 4)
        ]
        await asyncio.gather(*acts, return_exceptions=True)
        names = await pair[0].subscriptions.list("t")
        keys = await pair[0].store.command("KEYS", f"{pair[0].store.prefix}:*:sub:s")
        assert len(keys) == (3 if names else 0)


async def test_of_topics_created_at_once_one_is_there_and_whole(pair):
    for round_ in range(10):
        name = f"n{round_}"
        made = await asyncio.gather(
            *(broker.topics.create(name, 2 + n) for n, broker in enumerate(pair * 2)), return_exceptions=True
        )
        (entry,) = [each for each in made if not isinstance(each, BaseException)]
        assert {type(each) for each in made if isinstance(each, BaseException)} == {TopicExists}
        for broker in pair:
            described, states = await broker.topics.describe(name)
            assert described.partitions == entry.partitions == len(states)


async def test_a_topic_that_is_deleted_and_made_at_once_is_whole_or_gone(pair):
    for _ in range(10):
        await asyncio.gather(
            pair[0].topics.delete("t"), pair[1].topics.create("t", 2), pair[0].topics.create("t", 3),
            return_exceptions=True,
        )  # fmt: skip
        try:
            await pair[0].topics.create("t", 3)
        except TopicExists:
            pass
        try:
            topic, states = await pair[1].topics.describe("t")
        except UnknownTopic:
            pytest.fail("the topic is there and cannot be described")
        assert topic.partitions == len(states)
        for number in range(topic.partitions):
            await pair[1].records.produce("t", records("a", partition=number))
