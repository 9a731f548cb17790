"""Background maintenance: overdue transactions, heartbeats, the catalog of a dead broker, and shutdown."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.broker.cluster.live_brokers import SILENT_MS, LiveBrokers
from redis_ledger.clock import ManualClock
from redis_ledger.errors import LedgerError
from redis_ledger.store.keys import CatalogKeys
from tests.support.broker import eventually, live_transactions, one, records, status, two, values_of, vanish
from tests.support.busy_machine import busy_machine, within
from tests.support.redis_servers import redis_server


async def test_a_deadline_is_met_to_the_fraction_of_a_second(redis_url, prefix):
    """TS-11: with the sweep's interval as it is set by default."""
    async with one(redis_url, prefix, sweep_interval_ms=500) as broker, busy_machine(broker) as machine:
        await broker.topics.create("t")
        late = []

        async def expires(n):
            answer = await broker.transactions.begin(200 + 37 * n)
            begun = await broker.transactions.get(answer.id)
            assert answer.deadline_ms <= begun.deadline_ms
            while await status(broker, begun.id) == "open":
                await asyncio.sleep(0.005)
            late.append(broker.clock.now_ms() - begun.deadline_ms)

        await asyncio.gather(*(expires(n) for n in range(30)))
        assert min(late) >= 0, "nothing expires early"
        assert max(late) < 1_000 + 1_000 * machine.lost_s
        assert broker.maintenance.swept == 30


async def test_many_brokers_sweep_the_same_and_each_transaction_ends_once(redis_url, prefix):
    """TS-21, TS-22"""
    async with two(redis_url, prefix) as (first, second), one(redis_url, prefix) as third:
        await first.topics.create("t")
        for n in range(60):
            txn = (await first.transactions.begin(1_000)).id
            await first.records.produce("t", records(str(n)), transaction=txn)
        assert await eventually(lambda: live_transactions(first), 0, 4) == 0
        log = await values_of(third, "t", isolation="read_uncommitted")
        assert log.count("[marker]") == 60
        assert await values_of(second, "t") == []


async def test_transaction_made_overdue_by_a_clock_change_is_swept_next(redis_url, prefix):
    """TS-12: the deadline is a point in time, not a duration."""
    clock = ManualClock()
    async with one(redis_url, prefix, clock=clock) as broker:
        txn = (await broker.transactions.begin(60_000)).id
        clock.advance(59_999)
        await broker.maintenance.sweep()
        assert await status(broker, txn) == "open"
        clock.advance(1)
        await broker.maintenance.sweep()
        assert await eventually(lambda: status(broker, txn), "aborted") == "aborted"


async def test_a_broker_is_listed_while_it_lives_and_gone_when_it_has_closed(redis_url, prefix):
    key = CatalogKeys(prefix).brokers
    async with one(redis_url, prefix, name="stays") as stays:
        async with one(redis_url, prefix, name="goes") as goes:
            names = await stays.store.command("ZRANGE", key, 0, -1, key=key)
            assert names == sorted([stays.name.encode(), goes.name.encode()], key=names.index)
        assert await stays.store.command("ZRANGE", key, 0, -1, key=key) == [stays.name.encode()]


async def test_a_redis_that_was_away_makes_no_broker_disappear(prefix, monkeypatch):
    with redis_server() as server:
        async with two(server.url, prefix, redis_timeout_ms=30_000) as brokers:
            names_expected = {broker.name for broker in brokers}
            await brokers[0].live_brokers.send_heartbeat()
            seen = []
            learn = LiveBrokers._learn

            def learned(self, nodes):
                learn(self, nodes)
                seen.append(set(self.live))

            monkeypatch.setattr(LiveBrokers, "_learn", learned)
            # Given a Redis that answers nothing for longer than a broker may be silent
            server.freeze()
            await asyncio.sleep(SILENT_MS / 1000 + 1.5)
            seen.clear()
            # When it answers again
            server.thaw()

            async def heartbeats():
                return len(seen) >= 6

            # Then no broker misses another one, not even with the first heartbeat
            assert await eventually(heartbeats, True, 20) is True
            assert all(names == names_expected for names in seen), seen


async def test_a_change_of_a_topic_is_known_at_other_brokers_within_two_seconds(pair):
    first, second = pair
    assert (await second.catalog.get("t")).partitions == 1
    await first.topics.grow("t", 5)

    async def known():
        return (await second.catalog.get("t")).partitions

    assert await eventually(known, 5, 2) == 5


async def test_a_topic_left_half_created_or_half_deleted_is_finished_by_others(pair):
    """TB-24: the broker dies between the catalog and the partitions."""
    first, second = pair
    made = first.catalog._finish

    async def dies(entry):
        raise asyncio.CancelledError

    first.catalog._finish = dies
    with pytest.raises(asyncio.CancelledError):
        await first.topics.create("half", 3)
    first.catalog._finish = made
    first.catalog._remove = dies
    with pytest.raises(asyncio.CancelledError):
        await first.topics.delete("t")
    await vanish(first)

    async def topics():
        return [(t.name, t.partitions) for t in await second.topics.list()]

    assert await eventually(topics, [("half", 3)], 3) == [("half", 3)]
    await second.records.produce("half", records("a"), partition=2)
    assert await values_of(second, "half", 2) == ["a"]

    async def left():
        return await second.store.command("KEYS", f"{second.store.prefix}:{{t:*")

    assert await eventually(left, [], 3) == []


async def test_close_finishes_current_work_and_answers_waiters(redis_url, prefix):
    """TS-18: a commit under way is carried out, a long poll is answered."""
    async with one(redis_url, prefix, end_overdue_ms=60_000) as stays:
        await stays.topics.create("t")
        async with one(redis_url, prefix, end_overdue_ms=60_000) as goes:
            await goes.topics.create("quiet")
            waiting = asyncio.create_task(goes.records.fetch("quiet", 0, 0, wait_ms=30_000))
            txn = (await goes.transactions.begin()).id
            await goes.records.produce("t", records("a"), transaction=txn)
            await asyncio.sleep(0.05)
            assert (await goes.transactions.commit(txn, wait="logged")).status == "committing"
        async with within(1):
            assert (await waiting).batches == []
        assert await values_of(stays, "t") == ["a"]


async def test_broker_reports_an_unreachable_redis_and_recovers(redis_url, prefix):
    """TC-11"""
    async with one(redis_url, prefix) as broker:
        assert (await broker.ready())["coordinators"] == 2
        await vanish(broker)
        with pytest.raises(LedgerError) as refused:
            await broker.ready()
        assert refused.value.retriable


async def test_nothing_stays_of_a_broker_that_was_started_again_at_its_address(redis_url, prefix, monkeypatch):
    monkeypatch.setattr("redis_ledger.broker.maintenance.BROKER_GONE_MS", 300)
    k = CatalogKeys(prefix)

    async def stored(broker):
        command, keys = broker.store.command, [c.keys for c in broker.coordinators]
        calls = [await command("HKEYS", each.calls, key=each.state) for each in keys]
        brokers = await command("HKEYS", k.addresses, key=k.brokers)
        return {name.decode() for names in [brokers, *calls] for name in names if name}

    for number in range(3):
        async with one(redis_url, prefix, name=f"b{number}") as broker:
            await broker.live_brokers.announce({"": "localhost:9092"})
            for _ in broker.coordinators:
                await broker.transactions.abort((await broker.transactions.begin()).id)
            if number < 2:
                await vanish(broker)
                continue
            assert await eventually(lambda: stored(broker), {broker.name}, 5) == {broker.name}
