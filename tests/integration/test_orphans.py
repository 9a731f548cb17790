"""Orphans: partitions without a topic, listeners without a channel, names of brokers, and wrong counts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.errors import TopicBusy
from redis_ledger.ledger import waiters as waiting
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.waiters import Waiters
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store
from tests.support.broker import one, records, two
from tests.support.busy_machine import within


@pytest.fixture(params=["redis_url", "cluster_url"])
async def store(request, prefix) -> Any:
    opened = await Store.open(request.getfixturevalue(request.param), prefix=prefix)
    yield opened
    await opened.close()


def of(store: Store) -> Catalog:
    return Catalog(store, Config(), ManualClock())


@pytest.mark.parametrize("is_half_deleted", [False, True])
async def test_a_late_broker_leaves_no_partition_of_a_topic_that_was_deleted_meanwhile(store, is_half_deleted):
    """TB-24"""
    # Given a broker that is held up while it adds partitions, and a topic that is deleted meanwhile
    slow, quick = of(store), of(store)
    before = await slow.create("orders", 1, {})
    growing = replace(before, partitions=3, state="creating")
    assert await slow._swap("orders", before.encoded(), growing.encoded()) is None
    if is_half_deleted:
        ready = await quick.get("orders", fresh=True)
        doomed = replace(ready, state="deleting")
        await quick._swap("orders", ready.encoded(), doomed.encoded())
        await quick._remove(replace(doomed, name="orders", created_ms=-1))  # as one that is not through yet
    else:
        await quick.delete("orders")
    # When it goes on
    with pytest.raises(TopicBusy):
        await slow._finish(growing)
    # Then nothing stands in the way of a topic of this name
    assert [key for reply in await store.everywhere("KEYS", f"{store.prefix}:{{orders:*") for key in reply] == []
    if is_half_deleted:
        await quick.refresh()
    assert (await of(store).create("orders", 3, {})).state == "ready"


async def test_concurrent_lookups_get_the_same_partition(store):
    """Order within a partition is kept by its one queue."""
    catalog = of(store)
    await of(store).create("orders", 1, {})
    first, *others = await asyncio.gather(*(catalog.partition("orders", 0) for _ in range(5)))
    assert all(other is first for other in others)
    assert catalog.opened("orders", 0) is first


async def test_a_listener_that_has_just_subscribed_is_not_taken_for_an_idle_one(store, monkeypatch):
    monkeypatch.setattr(waiting, "CHECK_S", 0)  # looks whenever it can
    waiters = Waiters(store)
    for number in range(20):
        keys = PartitionKeys(store.prefix, "orders", number)
        async with waiters.listen([keys], committed=True):
            assert keys.wake in waiters._channels
    await waiters.close()


async def test_a_long_receive_ends_when_its_broker_closes(redis_url, prefix):
    """TS-18"""
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        waiting_one = asyncio.create_task(broker.subscriptions.receive("t", "s", wait_ms=30_000))
        await asyncio.sleep(0.1)
        await broker.waiters.close()
        async with within(1):
            assert await waiting_one == []


async def test_a_broker_that_has_closed_leaves_nothing_of_itself(redis_url, prefix):
    async with two(redis_url, prefix) as (stays, goes):
        await goes.transactions.begin()
        name = goes.name.encode()
        await goes.maintenance.close()
        left = [await stays.store.command("HEXISTS", c.keys.calls, name, key=c.keys.state) for c in stays.coordinators]
        addresses = stays.maintenance._keys.addresses
        assert (left, await stays.store.command("HEXISTS", addresses, name, key=addresses)) == ([0, 0], 0)


async def test_a_ledger_whose_count_is_wrong_is_healed_and_not_asked_for_ever(store):
    """An entry removed by hand, or a wrong count in a restored copy."""
    partition = Partition(store, "orders", 0, "t-1", Config(), ManualClock())
    await partition.create()
    await asyncio.gather(*(partition.append(AppendRequest(b"x", 1, 0)) for _ in range(3)))
    data = partition.keys.data(1)
    await store.command("XDEL", data, "0-2", key=partition.keys.state)
    async with within(2):
        assert (await partition.append(AppendRequest(b"y", 1, 0))).base_offset == 3
    assert await store.command("XLEN", data, key=partition.keys.state) == 3


async def test_a_topic_that_grows_keeps_its_queues_at_other_brokers(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t")
        await second.records.produce("t", records("a"))
        used = second.catalog.opened("t", 0)
        entry = await first.catalog.get("t")
        growing = replace(entry, partitions=2, state="creating")
        await first.catalog._swap("t", entry.encoded(), growing.encoded())
        await second.catalog.refresh()
        assert second.catalog.opened("t", 0) is used
        assert (await second.catalog.get("t")).partitions == 2
