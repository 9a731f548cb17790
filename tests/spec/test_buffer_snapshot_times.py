"""When snapshots of the transaction buffer are taken, and by which broker."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.support.broker import begun, eventually, one, records, two
from tests.support.buffer_snapshots import checked, ended, head, load, number, take
from tests.support.redis_servers import redis_server

SOON: dict[str, Any] = {"transaction_buffer_snapshot_min_time_ms": 1_000, "coordinators": 1}


async def idle_commands(broker):
    """Commands that Redis processes while nothing is due, apart from the two that count them."""

    async def processed():
        info = (await broker.store.command("INFO", "stats")).decode()
        return int(info.partition("total_commands_processed:")[2].split()[0])

    least = 1_000
    for _ in range(5):  # the broker's background work sends some a second
        before = await processed()
        for _ in range(20):
            await broker.buffer_snapshots.take_due()
        least = min(least, await processed() - before - 1)
    return least


async def test_a_partition_has_no_snapshot_before_its_first_transactional_write(prefix):
    """TB-14: plain writes cost no snapshot and no command; the first transactional one causes a snapshot."""
    with redis_server() as server:
        async with one(server.url, prefix, **SOON, sweep_interval_ms=5_000) as broker:
            await broker.maintenance.close()
            await broker.topics.create("t")
            for value in range(50):
                await broker.records.produce("t", records(f"{value}"))
            await asyncio.sleep(1.1)
            assert await idle_commands(broker) == 0
            assert await head(broker) == ()
            await begun(broker, "first")
            await broker.buffer_snapshots.take_due()
            assert await head(broker) == ()  # it is too early
            await asyncio.sleep(1.1)
            await broker.buffer_snapshots.take_due()
            assert (await head(broker))[:2] == (1, 51)
            assert await idle_commands(broker) == 0


async def test_a_snapshot_is_taken_after_so_many_ends(redis_url, prefix):
    """TB-16: at once, and again after as many."""
    settings: dict[str, Any] = {"transaction_buffer_snapshot_max_transaction_count": 2, "coordinators": 1}
    async with one(redis_url, prefix, **settings) as broker:
        await broker.topics.create("t")
        for expected, commits in enumerate([(True, True), (True, False)], 1):
            before = await head(broker)
            await ended(broker, commit=commits[0])
            await asyncio.sleep(0.5)
            assert await head(broker) == before
            await ended(broker, commit=commits[1])
            assert await eventually(lambda: number(broker), expected) == expected
            assert (await head(broker))[1] == 4 * expected


async def test_a_snapshot_is_taken_after_a_time_with_an_end_and_none_while_idle(redis_url, prefix):
    """TB-16: after one to two seconds, with an interval of one."""
    async with one(redis_url, prefix, **SOON) as broker:
        await broker.topics.create("t")
        for expected in (1, 2):
            began = time.monotonic()
            await ended(broker, commit=True)
            assert await eventually(lambda: number(broker), expected) == expected
            assert time.monotonic() - began >= 1
            before = await head(broker)
            await asyncio.sleep(1.5)
            assert await head(broker) == before


async def test_two_brokers_that_write_to_a_partition_take_one_snapshot_at_a_time(redis_url, prefix):
    """TB-16: snapshots that are taken at once continue the same one, so all but one are refused."""
    async with two(redis_url, prefix, coordinators=1) as (first, second):
        await first.topics.create("t")
        for broker in (first, second):
            await ended(broker, commit=True)
        taken = await asyncio.gather(*(take(broker) for broker in (first, second, first, second)))
        assert sum(each.bytes > 0 for each in taken) == await number(first)
        assert (await load(second)).index.position == 4
        assert (await checked(first, full=True)).left == []


async def test_plain_records_behind_a_snapshot_cause_the_next_one(redis_url, prefix, monkeypatch):
    """TB-16: what a rebuild reads is bounded for them, too."""
    monkeypatch.setattr("redis_ledger.broker.transactions.buffer_snapshots.PLAIN_OFFSETS", 30)
    async with one(redis_url, prefix, **SOON) as broker:
        await broker.topics.create("t")
        await ended(broker, commit=True)
        assert await eventually(lambda: number(broker), 1) == 1
        await broker.records.produce("t", records(*map(str, range(31))))
        assert await eventually(lambda: number(broker), 2) == 2
        assert (await head(broker))[1] == 33


@pytest.mark.parametrize("leads", [True, False])
async def test_a_broker_that_does_not_lead_the_partition_leaves_it_to_the_leader(leads, redis_url, prefix, monkeypatch):
    """TB-16: it takes a snapshot three times as late, if there is none since."""
    async with one(redis_url, prefix, **SOON) as broker:
        await broker.maintenance.close()
        monkeypatch.setattr(broker.buffer_snapshots, "_maintains", lambda topic, number: leads)
        await broker.topics.create("t")
        await ended(broker, commit=True)
        await asyncio.sleep(1.1)
        await broker.buffer_snapshots.take_due()
        assert await number(broker) == int(leads)
        await asyncio.sleep(2.1)
        await broker.buffer_snapshots.take_due()
        assert await number(broker) == 1
        await ended(broker, commit=True)
        await take(broker)  # as the leader does
        await ended(broker, commit=True)
        await asyncio.sleep(0.5)
        monkeypatch.setattr(broker.buffer_snapshots, "_interval_ms", 100)
        taken = await number(broker)
        await broker.buffer_snapshots.take_due()
        assert await number(broker) == taken + 1


async def test_snapshots_can_be_switched_off(redis_url, prefix):
    """TB-14"""
    settings: dict[str, Any] = {"transaction_buffer_snapshot_max_transaction_count": 0, **SOON}
    async with one(redis_url, prefix, **settings) as broker:
        await broker.topics.create("t")
        await ended(broker, commit=False)
        await asyncio.sleep(1.5)
        assert await head(broker) == ()
        assert broker.catalog.transactional_writes.by_partition == {}
