"""Payload of aborted transactions is given back: what readers see, beside all else that reads the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.transactions import aborted_payload
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import SystemClock
from redis_ledger.errors import LedgerError
from redis_ledger.fsck.service import Fsck
from redis_ledger.ledger import reader
from redis_ledger.store.keys import PartitionKeys
from tests.support.broker import begun, eventually, one, raw, records, two, values_of
from tests.support.buffer_snapshots import take
from tests.support.kafka_client import listening
from tests.support.offload_topic import TOPIC, offload_topic

NOW: dict[str, Any] = {"aborted_payload_retention_ms": 0}


async def reclaim(broker: Broker) -> None:
    """Every partition, as soon as its retention permits it."""
    await broker.aborted_payload.look_at_all()
    await broker.aborted_payload.reclaim_due()


async def ledger_entries(broker: Broker, topic: str = "t", ledger: int = 1) -> int:
    keys = PartitionKeys(broker.store.prefix, topic, 0)
    return int(await broker.store.command("XLEN", keys.data(ledger), key=keys.state))


async def findings(broker: Broker, *, full: bool = True) -> list[str]:
    report = await Fsck(broker.store, broker.config, SystemClock()).run(full=full)
    return [f"{each.kind}: {each.detail}" for each in report.left]


async def produce_all(broker: Broker, topic: str = "t") -> None:
    """Offsets 0 "a", 1 and 2 aborted, 3 "b", which is committed, 4 and 5 markers, 6 "c"."""
    await broker.records.produce(topic, records("a"))
    aborted = await begun(broker, "never 1", "never 2", topic=topic)
    committed = await begun(broker, "b", topic=topic)
    await broker.transactions.abort(aborted)
    await broker.transactions.commit(committed)
    await broker.records.produce(topic, records("c"))


@pytest.fixture
async def pair(redis_url: str, prefix: str) -> AsyncIterator[tuple[Broker, Broker]]:
    async with two(redis_url, prefix, **NOW) as opened:
        await opened[0].topics.create("t")
        yield opened


async def test_readers_of_every_broker_pass_over_it_and_offsets_stay(pair, redis_url, prefix):
    first, second = pair
    await produce_all(first)
    before = await first.records.fetch("t", 0, 0)
    assert await raw(second) == ["a", "never 1", "never 2", "b", "[marker]", "[marker]", "c"]
    await reclaim(first)
    assert await ledger_entries(first) == 3
    async with one(redis_url, prefix, name="b3") as third:  # with empty caches
        assert await raw(third) == ["a", "b", "[marker]", "[marker]", "c"]
        for broker in (third, second, first):
            after = await broker.records.fetch("t", 0, 0)
            assert [b.base_offset for b in after.batches] == [b.base_offset for b in before.batches] == [0, 3, 6]
            assert after.aborted == before.aborted
            assert (after.next_offset, after.end_offset) == (7, 7)
            assert await values_of(broker, "t") == ["a", "b", "c"]


@pytest.mark.parametrize("readers", [1, 2])
@pytest.mark.parametrize("committed", [True, False])
async def test_reads_in_progress_at_another_broker_go_on(pair, monkeypatch, committed, readers):
    first, second = pair
    await produce_all(first)
    reader = (await second.catalog.partition("t", 0)).reader
    payloads, calls, is_reclaimed, one_by_one = reader.payloads, 0, asyncio.Event(), asyncio.Lock()

    async def late(*args):
        nonlocal calls
        calls += 1
        if calls == readers:  # all of them have read log, state and aborted set
            await reclaim(first)
            is_reclaimed.set()
        await is_reclaimed.wait()
        async with one_by_one:  # the first of them learns about it
            return await payloads(*args)

    monkeypatch.setattr(reader, "payloads", late)
    reads = await asyncio.gather(*(reader._read_redis(0, committed, 1 << 20, 100, None) for _ in range(readers)))
    assert calls == 2 * readers
    for read in reads:
        assert [entry.base_offset for entry in read.entries] == list(range(7))
        assert [bool(payload) for payload in read.payloads] == [True, False, False, True, False, False, True]


async def test_a_read_in_advance_of_reclaimed_payload_is_made_again(pair):
    first, second = pair
    for _ in range(4):
        await begun(first, "x" * 3000)
        await produce_all(first)
    for txn in await first.transactions.list("open"):
        await first.transactions.abort(txn.id)
    partition = await second.catalog.partition("t", 0)
    at, values, is_reclaimed = 0, 0, False
    while True:
        read = await partition.reader.read(at, committed=False, bytes_max=500)
        if not read.entries:
            break
        at = read.entries[-1].last_offset + 1
        values += sum(1 for payload in read.payloads if payload)
        if partition.reader.ahead.begun is not None and not is_reclaimed:
            await reclaim(first)
            is_reclaimed = True
    assert is_reclaimed
    assert at == (await partition.offsets.head()).end_offset
    assert values >= 12


async def test_a_reader_does_not_stop_at_many_of_them(pair, redis_url, prefix, monkeypatch):
    monkeypatch.setattr(reader, "ENTRIES_MAX", 16)
    first, _ = pair
    txn = await begun(first, *(str(n) for n in range(100)))
    await first.transactions.abort(txn)
    await first.records.produce("t", records("behind"))
    await reclaim(first)
    async with one(redis_url, prefix, name="b3") as third:
        for isolation in ("read_uncommitted", "read_committed"):
            fetched = await third.records.fetch("t", 0, 0, isolation=isolation, max_bytes=1)
            assert [b.last_offset for b in fetched.batches if not b.is_control] in ([], [101])
            assert fetched.next_offset > 100
        monkeypatch.undo()
        found = await third.partition_fetch.next_readable("t", 0, 0, isolation="read_uncommitted")
        assert found == 101
        at = await third.partition_fetch.offset_at("t", 0, 0, isolation="read_uncommitted")
        assert at[0] == 101


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
async def test_kafka_consumers_pass_over_it(pair, redis_url, prefix, isolation):
    first, _ = pair
    await produce_all(first)
    txn = await begun(first, *(str(n) for n in range(300)))
    await first.transactions.abort(txn)
    await first.records.produce("t", records("behind"))
    await reclaim(first)
    async with one(redis_url, prefix, name="b3") as third, listening(third) as (host, port):
        options = {"auto_offset_reset": "earliest", "isolation_level": isolation, "max_partition_fetch_bytes": 1000}
        async with AIOKafkaConsumer(bootstrap_servers=f"{host}:{port}", **options) as consumer:
            where = TopicPartition("t", 0)
            consumer.assign([where])
            found: list[tuple[int, bytes]] = []
            while len(found) < 4:
                some = await asyncio.wait_for(consumer.getmany(timeout_ms=500), 20)
                found += [(each.offset, each.value) for each in some.get(where, ())]
            assert found == [(0, b"a"), (3, b"b"), (6, b"c"), (308, b"behind")]
            assert await consumer.position(where) == 309


async def test_fsck_finds_nothing_afterwards_and_still_finds_lost_payload(pair, redis_url, prefix):
    first, _ = pair
    await produce_all(first)
    await begun(first, "open")
    await reclaim(first)
    assert await findings(first) == []
    await take(first)
    assert await findings(first, full=False) == []
    keys = PartitionKeys(first.store.prefix, "t", 0)
    for entry in (4, 6):  # "b", which is committed, and "open"
        await first.store.command("XDEL", keys.data(1), f"0-{entry}", key=keys.state)
    seen = await findings(first)
    assert "payload: The payload of offsets 3 to 3, in ledger 1, is missing." in seen
    assert "payload: The payload of offsets 7 to 7, in ledger 1, is missing." in seen
    assert not any("offsets 1 " in each or "offsets 2 " in each for each in seen)
    async with one(redis_url, prefix, name="b3") as third:
        with pytest.raises(LedgerError, match="damage"):
            await third.records.fetch("t", 0, 3)


async def test_a_lost_cursor_costs_nothing(pair, redis_url, prefix):
    first, _ = pair
    await produce_all(first)
    await reclaim(first)
    keys = PartitionKeys(prefix, "t", 0)
    await first.store.command("HDEL", keys.state, "reclaimed", key=keys.state)
    assert await findings(first) == []
    async with one(redis_url, prefix, name="b3", **NOW) as third:
        assert await raw(third) == ["a", "b", "[marker]", "[marker]", "c"]
        await reclaim(third)
        assert await findings(third) == []
        await third.store.command("HSET", keys.state, "reclaimed", 100, key=keys.state)
        (wrong,) = await findings(third)
        assert "The field 'reclaimed' is 100; the log and the ledgers say 7." in wrong
        report = await Fsck(third.store, third.config, SystemClock()).run(repair=True)
        assert report.left == []


async def test_history_is_offloaded_afterwards(redis_url, prefix, tmp_path):
    async with offload_topic(redis_url, prefix, tmp_path / "history", **NOW) as world:
        await produce_all(world.broker, TOPIC)
        await world.roll()
        await reclaim(world.broker)
        await world.offload()
        assert [(s.first, s.end) for s in (await world.offload_state()).segments] == [(0, 7)]
        await produce_all(world.broker, TOPIC)
        await reclaim(world.broker)
        expected = [(0, "a"), (3, "b"), (6, "c"), (7, "a"), (10, "b"), (13, "c")]
        found = [(message.offset, (message.value or b"").decode()) async for message in world.client.read(TOPIC)]
        assert found == expected
        assert await findings(world.broker) == []


async def test_records_of_the_transaction_that_are_due_later_go_too(pair):
    first, _ = pair
    txn = (await first.transactions.begin()).id
    later = [NewRecord(None, b"later", deliver_after_ms=3_600_000), NewRecord(None, b"now")]
    await first.records.produce("t", later, transaction=txn)
    await first.records.produce("t", [NewRecord(None, b"kept", deliver_after_ms=3_600_000)])
    await first.transactions.abort(txn)

    async def entries() -> tuple[int, int]:
        await reclaim(first)
        return await ledger_entries(first), await ledger_entries(first, ledger=-1)

    assert await eventually(entries, (0, 1)) == (0, 1)
    waiting, _ = await first.delayed.list("t")
    assert [each.value for each in waiting] == [b"kept"]
    assert await findings(first) == []


async def test_retention_goes_on(pair):
    first, _ = pair
    await produce_all(first)
    _, (before,) = await first.topics.describe("t")
    await reclaim(first)
    _, (after,) = await first.topics.describe("t")
    assert after.bytes == before.bytes  # of the log: retention_bytes counts what was appended
    assert await first.topics.delete_records("t", 0, 3) == 3
    assert await values_of(first, "t") == ["b", "c"]
    assert await findings(first) == []
    assert await first.topics.delete_records("t", 0, 7) == 7
    await produce_all(first)
    await reclaim(first)
    assert await values_of(first, "t") == ["a", "b", "c"]
    assert await findings(first) == []


async def test_subscriptions_deliver_what_is_committed(pair):
    first, second = pair
    await first.subscriptions.create("t", "s")
    await produce_all(first)
    await reclaim(first)
    found = await second.subscriptions.receive("t", "s", "c1")
    assert [(message.id.offset, message.value) for message in found] == [(0, b"a"), (3, b"b"), (6, b"c")]


async def test_brokers_do_it_by_themselves_once_the_retention_has_passed(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(aborted_payload, "OWN_S", 0.1)
    monkeypatch.setattr(aborted_payload, "LOOK_S", 0.1)
    monkeypatch.setattr(aborted_payload, "TICK_S", 0.1)
    async with two(redis_url, prefix, aborted_payload_retention_ms=3_000) as (first, _):
        await first.topics.create("t")
        await produce_all(first)
        await asyncio.sleep(0.7)  # several looks
        assert await ledger_entries(first) == 5
        assert await eventually(lambda: ledger_entries(first), 3, 10.0) == 3


async def test_it_stays_if_it_is_turned_off(redis_url, prefix):
    async with one(redis_url, prefix, aborted_payload_retention_ms=-1) as broker:
        await broker.topics.create("t")
        await produce_all(broker)
        await reclaim(broker)
        assert await ledger_entries(broker) == 5


async def test_aborts_behind_an_open_transaction_wait_for_its_end(pair):
    first, _ = pair
    txn = await begun(first, "old")
    await first.transactions.abort(await begun(first, "never"))
    await reclaim(first)
    assert await ledger_entries(first) == 2
    await first.transactions.commit(txn)
    await reclaim(first)
    assert await ledger_entries(first) == 1
    assert await values_of(first, "t") == ["old"]
