"""Produce and fetch through a broker: idempotence, retention, topics, errors."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.broker.types import NewRecord, ProducerSequence
from redis_ledger.clock import ManualClock
from redis_ledger.errors import (
    BadRequest,
    OffsetOutOfRange,
    RequestTooLarge,
    SequenceGap,
    StaleEpoch,
    TransactionNotFound,
    UnknownPartition,
    UnknownTopic,
)
from redis_ledger.ids import TxnId
from redis_ledger.proto.txn_log_pb2 import TransactionLogOp as Op
from redis_ledger.txn import log as txn_log
from tests.support.broker import begun, eventually, heads, live_transactions, one, raw, records, two, values_of, visible


async def test_a_producers_retry_is_written_once_also_at_another_broker(redis_url, prefix):
    """TB-13: every batch is sent three times, the last time to a broker that has never seen the producer."""
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t")
        pid, epoch = await first.producers.allocate()
        for sequence in range(30):
            answers = [
                await b.records.produce("t", records(str(sequence)), producer=ProducerSequence(pid, epoch, sequence))
                for b in (first, first, second)
            ]
            assert [a[0].base_offset for a in answers] == [sequence] * 3
            assert [a[0].duplicate for a in answers] == [False, True, True]
        assert await raw(first) == [str(n) for n in range(30)]


async def test_a_gap_and_a_stale_epoch_are_refused_and_leave_nothing(broker):
    """TB-13"""
    pid, _ = await broker.producers.allocate()
    await broker.records.produce("t", records("a"), producer=ProducerSequence(pid, 1, 0))
    with pytest.raises(SequenceGap) as gap:
        await broker.records.produce("t", records("c"), producer=ProducerSequence(pid, 1, 2))
    assert gap.value.facts["expected"] == 1
    with pytest.raises(StaleEpoch):
        await broker.records.produce("t", records("zombie"), producer=ProducerSequence(pid, 0, 1))
    assert await raw(broker) == ["a"]


async def test_a_record_that_is_too_large_is_refused_before_anything_is_written(redis_url, prefix):
    """TB-34"""
    async with one(redis_url, prefix, batch_bytes_max=2_000) as broker:
        await broker.topics.create("t")
        with pytest.raises(RequestTooLarge):
            await broker.records.produce("t", [NewRecord(None, b"small"), NewRecord(None, bytes(3_000))])
        assert await heads(broker) == (0, 0, 0, 0)
        parts = await broker.records.produce("t", [NewRecord(None, bytes(900))] * 5)
        assert [p.records for p in parts] == [2, 2, 1]
        assert await heads(broker) == (0, 5, 5, 0)


async def test_a_topic_is_created_by_the_first_produce_unless_that_is_off(redis_url, prefix):
    """As Kafka does; ten producers at two brokers make one topic."""
    async with two(redis_url, prefix, num_partitions=3) as (first, second):
        await asyncio.gather(
            *(b.records.produce("new", records(str(n), key=str(n))) for n, b in enumerate((first, second) * 5))
        )
        topic, states = await second.topics.describe("new")
        assert topic.partitions == 3
        assert sum(s.end_offset for s in states) == 10
    async with one(redis_url, prefix + "x", auto_create_topics=False) as broker:
        with pytest.raises(UnknownTopic):
            await broker.records.produce("new", records("a"))


async def test_topic_recreated_by_another_broker_is_read_at_once(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t")
        await first.records.produce("t", records("old", "older"))
        assert await values_of(second, "t") == ["old", "older"]  # it knows the topic now
        await first.topics.delete("t")
        await first.topics.create("t")
        await first.records.produce("t", records("new"))
        assert (await second.records.fetch("t", 0, 0)).next_offset == 1
        await first.topics.delete("t")
        await first.topics.create("t")
        assert await second.partition_fetch.offset_at("t", 0, 0) == (0, None)


async def test_recreated_topic_is_another_topic(redis_url, prefix):
    """TB-24: nothing of the old one is seen, at a broker that still remembers it neither."""
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t")
        await second.records.produce("t", records("old"))
        txn = await begun(second, "aborted")
        await second.transactions.abort(txn)
        await first.topics.delete("t")
        await first.topics.create("t", 2)
        await first.records.produce("t", records("new"), partition=0)
        await second.records.produce("t", records("newer"), partition=0)
        assert await visible(second, "t") == {0: ["new", "newer"]}
        assert await heads(first) == (0, 2, 2, 0)


async def test_a_commit_skips_a_topic_that_was_deleted_meanwhile(broker):
    """TS-08"""
    await broker.topics.create("doomed")
    txn = await begun(broker, "kept")
    await broker.records.produce("doomed", records("lost"), transaction=txn)
    await broker.topics.delete("doomed")
    assert (await broker.transactions.commit(txn)).status == "committed"
    assert await values_of(broker, "t") == ["kept"]
    assert await eventually(lambda: live_transactions(broker), 0) == 0


async def test_offsets_outside_the_log_and_partitions_that_are_not_there_are_refused(broker):
    """TB-32"""
    await broker.records.produce("t", records("a"))
    with pytest.raises(OffsetOutOfRange) as refused:
        await broker.records.fetch("t", 0, 7)
    assert (refused.value.facts["start_offset"], refused.value.facts["end_offset"]) == (0, 1)
    with pytest.raises(UnknownPartition):
        await broker.records.fetch("t", 3, 0)
    with pytest.raises(UnknownPartition):
        await broker.records.produce("t", records("a"), partition=1)
    with pytest.raises(BadRequest):
        await broker.records.produce("t", [])


async def test_retention_by_time_trims_what_is_old_and_decided(redis_url, prefix):
    """TB-21, TB-30: the log start moves, aborted transactions are forgotten, an open one is never trimmed."""
    clock = ManualClock()
    async with one(redis_url, prefix, clock=clock, ledger_bytes_max=200) as broker:
        await broker.topics.create("t", settings={"retention_ms": 60_000})
        for n in range(5):
            await broker.records.produce("t", records(f"old {n}"))
        await broker.transactions.abort(await begun(broker, "aborted"))
        clock.advance(61_000)
        await broker.records.produce("t", records("young"))
        await broker.maintenance.retain()
        assert await heads(broker) == (7, 8, 8, 0)
        assert await values_of(broker, "t") == ["young"]
        keys = (await broker.catalog.partition("t", 0)).keys
        assert await broker.store.command("ZCARD", keys.aborted, key=keys.state) == 1  # the sentinel
        with pytest.raises(OffsetOutOfRange):
            await broker.records.fetch("t", 0, 3)
        # A record of an open transaction stays, and everything behind it
        await begun(broker, "undecided", timeout_ms=600_000)
        clock.advance(30_000)
        await broker.records.produce("t", records("behind"))
        clock.advance(40_000)
        await broker.maintenance.retain()
        assert await raw(broker) == ["undecided", "behind"]


async def test_retention_by_bytes_keeps_the_newest_and_drops_whole_ledgers(redis_url, prefix):
    """TB-21"""
    async with one(redis_url, prefix, ledger_bytes_max=4_000) as broker:
        await broker.topics.create("t", settings={"retention_bytes": 10_000})
        for n in range(40):
            await broker.records.produce("t", [NewRecord(None, b"%03d" % n + bytes(900))])
        keys = (await broker.catalog.partition("t", 0)).keys
        ledgers = await broker.store.command("HLEN", keys.ledgers, key=keys.state)
        await broker.maintenance.retain()
        (_, (state,)) = await broker.topics.describe("t")
        assert state.bytes <= 10_000
        assert state.ledgers < ledgers
        assert [v[:3] for v in await values_of(broker, "t")] == [f"{n:03}" for n in range(state.start_offset, 40)]
        assert await broker.store.command("EXISTS", keys.data(1), key=keys.state) == 0


async def test_a_transactional_send_to_an_unknown_transaction_writes_nothing(broker):
    """CL-04, TC-10"""
    with pytest.raises(TransactionNotFound):
        await broker.records.produce("t", records("a"), transaction=TxnId(0, 999_999))
    assert await heads(broker) == (0, 0, 0, 0)


async def test_concurrent_first_sends_share_one_registration(broker):
    """CL-03: also when the one that registers goes away."""
    txn = (await broker.transactions.begin()).id
    entries = (await broker.coordinators.get(txn)).participants
    assert entries == []
    sends = [asyncio.create_task(broker.records.produce("t", records(str(n)), transaction=txn)) for n in range(50)]
    while not broker.records._registry._under_way:
        await asyncio.sleep(0)
    sends[0].cancel()
    results = await asyncio.gather(*sends, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert [r for r in results[1:] if isinstance(r, BaseException)] == []
    keys = broker.coordinators.of(txn).keys
    logged = [placed.record.op async for placed in txn_log.read(broker.store, keys)]
    assert logged == [Op.NEW, Op.ADD_PARTITION]
    await broker.transactions.commit(txn)
    assert sorted(await values_of(broker, "t"), key=int) == [str(n) for n in range(1, 50)]
    assert broker.records._registry._under_way == {}
