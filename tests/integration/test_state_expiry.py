"""Expiry of stored state: outcomes, tombstones and producers are removed, a page at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.broker.topics.state_expiry import PAGE
from redis_ledger.clock import ManualClock
from tests.support.broker import eventually, live_transactions, one, records, two

HOUR_MS, SILENT_MS = 3_600_000, 86_400_000
MINUTES_10_MS = 600_000


@pytest.fixture
async def clock():
    return ManualClock()


@pytest.fixture
async def broker(redis_url, prefix, clock):
    """Without background work: each look is the test's."""
    async with one(redis_url, prefix, clock=clock, coordinators=1) as broker:
        await broker.maintenance.close()
        await broker.topics.create("t", 1)
        yield broker


async def sizes(broker) -> dict[str, int]:
    """Of what is remembered; without the sentinels."""
    command, coordinator = broker.store.command, next(iter(broker.coordinators)).keys
    k = (await broker.catalog.partition("t", 0)).keys
    counted: dict[str, Any] = {
        "outcomes": command("HLEN", coordinator.outcomes, key=coordinator.state),
        "nonces": command("HLEN", coordinator.nonces, key=coordinator.state),
        "tombstones": command("ZCARD", k.ended, key=k.state),
        "producers": command("HLEN", k.producers, key=k.state),
    }
    return {name: await count - 1 for name, count in counted.items()}


async def write(broker, count: int) -> None:
    """So many committed transactions of one record."""

    async def one_of_them(number: int) -> None:
        txn = await broker.transactions.begin(nonce=f"n{number}")
        await broker.records.produce("t", records("x"), transaction=txn.id)
        await broker.transactions.commit(txn.id)

    open_before = await live_transactions(broker)
    for first in range(0, count, 100):
        await asyncio.gather(*(one_of_them(first + n) for n in range(min(100, count - first))))
    assert await eventually(lambda: live_transactions(broker), open_before) == open_before


async def test_a_finished_transaction_leaves_nothing_after_its_time_though_nothing_else_happens(broker, clock):
    await write(broker, 1_200)
    assert (await sizes(broker))["outcomes"] == 1_200
    clock.advance(HOUR_MS + 1)
    await broker.maintenance.forget_ended()
    await broker.maintenance.retain()
    assert await sizes(broker) == {"outcomes": 0, "nonces": 0, "tombstones": 0, "producers": 0}


async def test_tombstones_behind_an_old_open_transaction_go_after_ten_minutes(broker, clock):
    old = await broker.transactions.begin(timeout_ms=900_000)
    await write(broker, 1_100)
    assert (await sizes(broker))["tombstones"] == 1_100
    clock.advance(MINUTES_10_MS)
    await broker.maintenance.retain()
    assert (await sizes(broker))["tombstones"] == 1_100
    clock.advance(1)
    await broker.maintenance.retain()
    assert (await sizes(broker))["tombstones"] == 0
    await broker.transactions.abort(old.id)


async def add_producers(broker, first: int, count: int, at_ms: int) -> None:
    k = (await broker.catalog.partition("t", 0)).keys
    rows = [each for pid in range(first, first + count) for each in (pid, f"0 {at_ms} 0:0:{pid}")]
    await broker.store.command("HSET", k.producers, *rows, key=k.state)


async def test_a_look_reads_a_page_of_many_producers_and_a_lap_reads_all_of_them(broker, clock, monkeypatch):
    monkeypatch.setattr("redis_ledger.broker.topics.state_expiry.LAP_LOOKS", 4)
    looks, many = 4, 20 * PAGE
    partition = await broker.catalog.partition("t", 0)
    await add_producers(broker, 0, many, clock.now_ms())
    clock.advance(SILENT_MS)
    await add_producers(broker, many, 10, clock.now_ms())
    await broker.retention.expiry.look(partition)
    assert (await sizes(broker))["producers"] == many + 10
    clock.advance(1)
    left = []
    for _ in range(3 * looks):
        await broker.retention.expiry.look(partition)
        left.append((await sizes(broker))["producers"])
        if left[-1] == 10:
            break
    # Each look takes its share, and no more
    assert left[-1] == 10
    assert looks <= len(left)
    assert max(a - b for a, b in zip([many + 10, *left], left, strict=False)) < 2 * many / looks


async def test_few_producers_are_looked_at_all_at_once(broker, clock):
    partition = await broker.catalog.partition("t", 0)
    await add_producers(broker, 0, 100, clock.now_ms())
    clock.advance(SILENT_MS + 1)
    await broker.retention.expiry.look(partition)
    assert (await sizes(broker))["producers"] == 0


async def test_the_producer_of_a_key_goes_with_the_key(redis_url, prefix, clock):
    async with one(redis_url, prefix, clock=clock, coordinators=1, idempotency_key_ms=600_000) as broker:
        await broker.topics.create("t", 1)
        partition = await broker.catalog.partition("t", 0)
        ids = [await broker.producers.ids.allocate_keyed(), await broker.producers.ids.allocate()]
        for producer_id in ids:
            await add_producers(broker, producer_id, 1, clock.now_ms())
        clock.advance(660_000)
        await broker.retention.expiry.look(partition)
        assert (await sizes(broker))["producers"] == 2
        clock.advance(1)
        await broker.retention.expiry.look(partition)
        k = partition.keys
        left = await broker.store.command("HKEYS", k.producers, key=k.state)
        assert {int(name) for name in left if name} == {ids[1]}


async def test_several_brokers_forget_the_same_once(redis_url, prefix):
    async with two(redis_url, prefix, coordinators=1, ended_status_retention_ms=0, tombstone_ms=0) as (a, b):
        await a.topics.create("t", 1)
        await write(a, 300)
        await asyncio.gather(
            a.maintenance.forget_ended(), b.maintenance.forget_ended(), a.maintenance.retain(), b.maintenance.retain()
        )
        found = await sizes(b)
        assert (found["outcomes"], found["tombstones"]) == (0, 0)
