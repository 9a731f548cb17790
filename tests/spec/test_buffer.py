"""The transaction buffer after a broker has gone, while Redis is unavailable, and while no client ends a transaction.

There is no recovery: the state of a partition changes in the step that writes the log.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from redis_ledger.decoding import budget
from redis_ledger.errors import LedgerError
from tests.support.broker import one, outstanding, records, two, values_of, vanish
from tests.support.busy_machine import busy_machine
from tests.support.redis_servers import redis_server
from tests.support.rest import client_of


async def heads(broker, topic="t"):
    """Start, stable and end offset of partition 0, and how many transactions are open there."""
    _, (state, *_) = await broker.topics.describe(topic)
    return state.start_offset, state.stable_offset, state.end_offset, state.open_transactions


async def begun(broker, *values, topic="t"):
    txn = (await broker.transactions.begin()).id
    for value in values:
        await broker.records.produce(topic, records(value), transaction=txn)
    return txn


async def history(broker, length):
    """Plain records, ten aborted transactions among them, and an open one at the end with a record behind it."""
    for n in range(10):
        await broker.records.produce("t", records(f"plain {n}"))
        await broker.transactions.abort(await begun(broker, f"never {n}"))
    for _ in range(length):
        await broker.records.produce("t", records("x"))
    txn = await begun(broker, "open")
    await broker.records.produce("t", records("behind"))
    return txn


async def test_the_first_sends_of_a_transaction_wait_for_nothing_and_keep_their_order(redis_url, prefix, monkeypatch):
    """TB-14: 100 sends of one transaction at first contact, and 10 producers that race for a fresh partition."""
    # On a busy machine a request may rest in between, and requests that are made at once have no order then.
    monkeypatch.setattr(budget, "TURN_S", 60)
    async with one(redis_url, prefix, coordinators=1) as broker:
        for topic in ("t", "raced"):
            await broker.topics.create(topic)
        txn = (await broker.transactions.begin()).id
        sends = [broker.records.produce("t", records(str(n)), transaction=txn) for n in range(100)]
        await asyncio.gather(*sends)
        txns = [(await broker.transactions.begin()).id for _ in range(10)]
        await asyncio.gather(*(broker.records.produce("raced", records("r"), transaction=each) for each in txns))
        assert await values_of(broker, "t") == await values_of(broker, "raced") == []
        await asyncio.gather(*(broker.transactions.commit(each) for each in (txn, *txns)))
        assert await values_of(broker, "t") == [str(n) for n in range(100)]
        assert await values_of(broker, "raced") == ["r"] * 10


async def test_read_skips_aborted_records_and_markers(redis_url, prefix):
    """TB-28: ten aborted transactions and their markers, with room for one entry in an answer."""
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        for n in range(10):
            await broker.transactions.abort(await begun(broker, f"never {n}"))
        await broker.records.produce("t", records("here"))
        fetched = await broker.records.fetch("t", 0, 0, max_bytes=1)
        assert [batch.base_offset for batch in fetched.batches] == [20]
        assert fetched.next_offset == fetched.stable_offset == 21


async def commands(broker):
    """How many commands Redis has processed since it started."""
    info = (await broker.store.command("INFO", "stats")).decode()
    (line,) = [line for line in info.splitlines() if line.startswith("total_commands_processed:")]
    return int(line.partition(":")[2])


async def test_a_broker_that_starts_has_the_state_of_before_and_reads_no_history_for_it(prefix):
    """TB-17, TB-23, TB-25: offsets, open and aborted transactions are the same, at the same cost for any history."""
    costs = []
    with redis_server() as server:
        for length in (50, 1_500):
            async with one(server.url, f"{prefix}{length}") as before:
                await before.topics.create("t")
                txn = await history(before, length)
                state = await heads(before)
                raw = await before.records.fetch("t", 0, 0, isolation="read_uncommitted", max_bytes=1 << 24)
                await vanish(before)
            async with one(server.url, f"{prefix}{length}") as after:
                await after.maintenance.close()
                started = await commands(after)
                assert await heads(after) == state == (0, length + 30, length + 32, 1)
                costs.append(await commands(after) - started)
                again = await after.records.fetch("t", 0, 0, isolation="read_uncommitted", max_bytes=1 << 24)
                assert (again.aborted, len(again.aborted)) == (raw.aborted, 10)
                plain = [f"plain {n}" for n in range(10)]
                assert await values_of(after, "t") == plain + ["x"] * length
                await after.transactions.abort(txn)
                assert await values_of(after, "t") == [*plain, *["x"] * length, "behind"]
    assert costs[0] == costs[1] < 10


async def test_new_broker_serves_records_written_before_its_start_without_another_produce(redis_url, prefix):
    """TB-18, TB-25: a reader waits at a broker that starts; a record that was written before is its first answer."""
    async with one(redis_url, prefix, name="before") as before:
        await before.topics.create("t")
        await before.transactions.commit(await begun(before, "decided"))
        await begun(before, "open")
        await before.records.produce("t", records("behind"))
        await vanish(before)
    async with one(redis_url, prefix, name="after") as after:
        fetched = await after.records.fetch("t", 0, 0, wait_ms=10_000)
        assert [batch.base_offset for batch in fetched.batches if not batch.is_control] == [0]
        assert (fetched.stable_offset, fetched.end_offset) == (2, 4)
        assert await values_of(after, "t") == ["decided"]


@pytest.mark.parametrize("commit", [True, False])
async def test_an_end_is_the_first_call_of_a_broker_and_is_carried_out(redis_url, prefix, commit):
    """TB-19"""
    async with one(redis_url, prefix, name="before") as before:
        await before.topics.create("t")
        txn = await begun(before, "a")
        await before.records.produce("t", records("behind"))
        await vanish(before)
    async with one(redis_url, prefix, name="after") as after:
        answer = await (after.transactions.commit if commit else after.transactions.abort)(txn)
        assert answer.status == ("committed" if commit else "aborted")
        assert await values_of(after, "t") == (["a", "behind"] if commit else ["behind"])
        assert await outstanding(after, "t") == 0


async def test_a_partition_whose_redis_is_away_refuses_retriably_and_shows_no_aborted_record(prefix):
    """TB-20: polled through a kill and a restart of Redis."""
    with redis_server(appendonly="yes", appendfsync="always") as server:
        async with one(server.url, prefix, redis_retry_ms=500, redis_timeout_ms=1_000) as broker:
            await broker.topics.create("t")
            for n in range(20):
                txn = await begun(broker, f"{n}")
                await (broker.transactions.commit if n % 2 else broker.transactions.abort)(txn)
            committed = [f"{n}" for n in range(1, 20, 2)]
            refusals, seen = list[LedgerError](), list[list[str]]()

            async def poll():
                while True:
                    try:
                        seen.append(await values_of(broker, "t"))
                    except LedgerError as error:
                        refusals.append(error)
                    await asyncio.sleep(0.005)

            polling = asyncio.create_task(poll())
            while not seen:
                await asyncio.sleep(0.005)
            server.kill()
            while not refusals:
                await asyncio.sleep(0.005)
            server.start()
            before = len(seen)
            async with asyncio.timeout(20):
                while len(seen) < before + 3:
                    await asyncio.sleep(0.005)
            polling.cancel()
            assert all(error.retriable for error in refusals)
            assert all(values == committed for values in seen)


async def test_an_abort_costs_the_same_however_many_came_before_it(prefix):
    """TB-22: bytes written by Redis for fifty aborts, as its append-only file shows them."""
    with redis_server(appendonly="yes", appendfsync="no", auto_aof_rewrite_percentage="0") as server:
        async with one(server.url, prefix, coordinators=1) as broker:
            await broker.maintenance.close()
            await broker.topics.create("t")

            async def written():
                info = (await broker.store.command("INFO", "persistence")).decode()
                (line,) = [line for line in info.splitlines() if line.startswith("aof_current_size:")]
                return int(line.partition(":")[2])

            async def fifty():
                before = await written()
                for _ in range(50):
                    await broker.transactions.abort(await begun(broker, "x"))
                return await written() - before

            await fifty()
            first = await fifty()
            for _ in range(15):
                await fifty()
            assert await fifty() < 1.2 * first
            keys = (await broker.catalog.partition("t", 0)).keys
            assert await broker.store.command("ZCARD", keys.aborted, key=keys.state) >= 900


async def test_a_partition_shows_its_ledgers_and_what_is_open_instead_of_snapshots(redis_url, prefix):
    """OB-10, OB-12: over REST; a subscription shows what is pending on it."""
    async with one(redis_url, prefix, end_overdue_ms=60_000) as broker, client_of(broker) as http:
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        await broker.records.produce("t", records("in"))
        txn = await begun(broker, "a")
        leased = (await http.post("/v1/topics/t/subscriptions/s:receive", json={"consumer": "c"})).json()
        body = {"consumer": "c", "ids": [leased["messages"][0]["id"]], "transaction": str(txn)}
        assert (await http.post("/v1/topics/t/subscriptions/s:ack", json=body)).status_code == 200
        (partition,) = (await http.get("/v1/topics/t")).json()["partition_states"]
        shown = {name: partition[name] for name in ("stable_offset", "end_offset", "open_transactions", "ledgers")}
        assert shown == {"stable_offset": 1, "end_offset": 2, "open_transactions": 1, "ledgers": 1}
        assert partition["bytes"] > 0
        stats = (await http.get("/v1/topics/t/subscriptions/s")).json()
        assert stats["pending"] == 1


@pytest.mark.parametrize("idle_s", [5, pytest.param(30, marks=pytest.mark.full)])
async def test_two_hundred_readers_at_the_stable_offset_cost_nothing_and_wake_within_a_tenth_of_a_second(
    prefix, idle_s
):
    """TB-33: 200 partitions, an open transaction and a waiting reader on each, idle for seconds."""
    settings = {"sweep_interval_ms": 1_000, "transaction_buffer_snapshot_max_transaction_count": 0}
    with redis_server() as server:
        async with two(server.url, prefix, **settings) as (first, second):
            for topic in ("t", "quiet"):
                await first.topics.create(topic, 200)
            txns = [(await first.transactions.begin()).id for _ in range(200)]
            await asyncio.gather(
                *(
                    first.records.produce("t", records("open"), partition=n, transaction=txn)
                    for n, txn in enumerate(txns)
                )
            )
            await second.topics.describe("t")
            waiting = [asyncio.create_task(second.records.fetch("t", n, 0, wait_ms=60_000)) for n in range(200)]
            await asyncio.sleep(1.5)  # every reader has subscribed and looked

            async def payload_reads():
                info = (await second.store.command("INFO", "commandstats")).decode()
                calls = [line.split(",")[0] for line in info.splitlines() if line.startswith("cmdstat_xrange:")]
                return sum(int(each.partition("calls=")[2]) for each in calls)

            reads, cpu, began = await payload_reads(), time.process_time(), time.monotonic()
            await asyncio.sleep(3)  # nothing happens
            assert await payload_reads() == reads
            await asyncio.sleep(idle_s - 3)
            used = (time.process_time() - cpu) / (time.monotonic() - began)
            # Now and then, maintenance looks at each of the 500 partitions.
            assert await payload_reads() - reads < 3 * 500
            assert not any(task.done() for task in waiting)
            assert used < 0.05, f"two brokers used {used:.0%} of a core while nothing happened"
            # And the end of one transaction wakes its reader
            late = []
            for n in (0, 99, 199):
                began = time.monotonic()
                async with busy_machine(second) as machine:
                    await first.transactions.commit(txns[n])
                    assert len((await waiting[n]).batches) == 1
                late.append(time.monotonic() - began - machine.lost_s)
            assert min(late) < 0.1
            assert second.waiters.missed == 0
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
