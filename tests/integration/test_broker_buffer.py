"""The transaction buffer through a broker: visibility, fencing, and wake-up of waiting readers."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.errors import (
    TransactionEnded,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.records.build import encode
from redis_ledger.telemetry.metrics import topics
from redis_ledger.txn.coordinator import Participant
from tests.support.broker import begun, heads, one, outstanding, raw, receive_values, records, two, values_of
from tests.support.busy_machine import busy_machine, within


async def test_transactional_records_go_into_the_log_in_publish_order_and_unseen(broker):
    """TB-01"""
    await broker.records.produce("t", records("n1"))
    txn = await begun(broker, "t-m1")
    where = await broker.records.produce("t", records("n2"))
    await broker.records.produce("t", records("t-m2"), transaction=txn)
    assert await raw(broker) == ["n1", "t-m1", "n2", "t-m2"]
    assert await values_of(broker, "t") == ["n1"]
    assert where[0].base_offset == 2, "the offset that was returned is final"


async def test_end_writes_one_undelivered_marker(redis_url, prefix):
    """TB-02: three sends and a commit are four offsets; three are delivered, and three are counted as delivered."""
    topic = f"t-{prefix}"  # a process counts the traffic of a name
    async with one(redis_url, prefix) as broker:
        await broker.topics.create(topic)
        await broker.subscriptions.create(topic, "s")
        txn = await begun(broker, "a", "b", "c", topic=topic)
        await broker.transactions.commit(txn)
        assert await raw(broker, topic) == ["a", "b", "c", "[marker]"]
        assert await values_of(broker, topic) == ["a", "b", "c"]
        assert await heads(broker, topic) == (0, 4, 4, 0)
        assert list((await receive_values(broker, topic, "s", max_records=10)).values()) == ["a", "b", "c"]
        assert (topics.of(topic).records_in, topics.of(topic).records_out) == (3, 3)


async def test_a_transaction_costs_one_element_however_much_it_writes(broker):
    """TB-03, TB-40: only its first offset is kept, and its marker has no list."""
    txn = (await broker.transactions.begin()).id
    partition = await broker.catalog.partition("t", 0)
    keys = partition.keys
    await broker.records.produce("t", records("first"), transaction=txn)
    before = await broker.store.command("MEMORY", "USAGE", keys.open, key=keys.state)
    for _ in range(20):
        await broker.records.produce("t", records(*["more"] * 500), transaction=txn)
    assert await broker.store.command("MEMORY", "USAGE", keys.open, key=keys.state) == before
    assert await broker.store.command("HLEN", keys.open, key=keys.state) == 2  # the sentinel and the transaction
    await broker.transactions.commit(txn)
    (_, fields), *_ = await broker.store.command("XREVRANGE", keys.log, "+", "-", "COUNT", 1, key=keys.state)
    assert sum(map(len, fields)) < 120


async def test_the_readable_limit_follows_the_oldest_open_transaction(broker):
    """TB-04, TB-07, TB-31: the worked example of the transaction buffer RFC, markers and all."""
    begin, produce, commit = broker.transactions.begin, broker.records.produce, broker.transactions.commit
    t1, t2, t3 = [(await begin()).id for _ in range(3)]
    limits = []
    for act in (
        lambda: produce("t", records("t1 first"), transaction=t1),
        lambda: produce("t", records("t2 first"), transaction=t2),
        lambda: produce("t", records("t3"), transaction=t3),
        lambda: produce("t", records("t2 second"), transaction=t2),
        lambda: commit(t1),
        lambda: produce("t", records("plain")),
        lambda: commit(t3),
        lambda: commit(t2),
    ):
        await act()
        limits.append((await heads(broker))[1] - 1)
    assert limits == [-1, -1, -1, -1, 0, 0, 0, 7]
    assert await values_of(broker, "t") == ["t1 first", "t2 first", "t3", "t2 second", "plain"]


async def test_a_repeated_end_changes_nothing(broker):
    """TB-08"""
    txn = await begun(broker, "a")
    decision = await broker.coordinators.decide(txn, commit=True)
    for _ in range(3):
        await broker.transactions._participants.end(decision)
    assert [await broker.transactions.commit(txn) for _ in range(3)]
    assert await raw(broker) == ["a", "[marker]"]


async def forge(broker, txn, value="forged"):
    """A send that claims to be verified, as a broker that was asleep since it registered would."""
    registry = broker.records._registry
    partition = await broker.catalog.partition("t", 0)
    registry._known[txn] = {Participant("t", partition.topic_id, 0): asyncio.get_running_loop().time()}
    return await broker.records.produce("t", records(value), transaction=txn)


async def test_a_send_after_the_marker_is_refused_though_an_older_transaction_is_open(redis_url, prefix):
    """TB-10: the fence does not wait for the watermark."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        await broker.topics.create("elsewhere")
        await begun(broker, "keeps the watermark low", topic="elsewhere")
        t1 = await begun(broker, "mine")
        await broker.transactions.commit(t1)
        with pytest.raises(TransactionEnded):
            await forge(broker, t1)
        await broker.records.produce("t", records("next"))
        assert await values_of(broker, "t") == ["mine", "next"]
        assert await outstanding(broker, "t") == 0


async def test_a_send_at_or_below_the_watermark_is_refused_and_leaves_nothing(redis_url, prefix):
    """TB-09: the tombstone is gone by then; the watermark speaks."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        t1, t2 = await begun(broker, "one"), await begun(broker, "two")
        await broker.transactions.commit(t1)
        await broker.transactions.commit(t2)
        await broker.transactions.commit(await begun(broker, "three"))
        keys = (await broker.catalog.partition("t", 0)).keys
        assert await broker.store.command("ZSCORE", keys.ended, str(t1), key=keys.state) is None
        before = await raw(broker)
        with pytest.raises(TransactionEnded):
            await forge(broker, t1)
        assert await raw(broker) == before


async def test_one_coordinators_watermark_says_nothing_about_another(broker):
    """TB-11, TB-12: leftovers are aborted by the next end of their own coordinator, all of them."""
    partition = await broker.catalog.partition("t", 0)
    lives: dict[int, list[TxnId]] = {0: [], 1: []}
    while min(map(len, lives.values())) < 5:
        txn = (await broker.transactions.begin()).id
        lives[txn.coordinator].append(txn)
    # Given two transactions of each coordinator that ended elsewhere, and were written here past every fence
    for coordinator in (0, 1):
        for txn in lives[coordinator][:2]:
            await broker.transactions.abort(txn)
            done = await partition.append(leftover(txn), txn)
            assert done.base_offset >= 0
    assert (await heads(broker))[3] == 4
    # When a later transaction of coordinator 1 ends here, then only its leftovers go
    for coordinator, left in ((1, 2), (0, 0)):
        txn = lives[coordinator][2]
        await broker.records.produce("t", records("real"), transaction=txn)
        await broker.transactions.commit(txn)
        assert (await heads(broker))[3] == left
    assert await values_of(broker, "t") == ["real", "real"]
    assert await outstanding(broker, "t") == 0


def leftover(txn):
    payload = encode([(None, b"leftover", (), 1)], producer_id=txn.producer_id, epoch=0, transactional=True)
    return AppendRequest(payload, 1, 1, txn.producer_id, 0)


async def test_more_counts_only_deliverable_records(broker):
    """TB-28: behind markers and aborted records there is nothing; behind an open transaction nothing yet."""
    await broker.transactions.commit(await begun(broker, "a"))
    await broker.transactions.abort(await begun(broker, "gone"))
    fetched = await broker.records.fetch("t", 0, "earliest")
    fetched = await broker.records.fetch("t", 0, fetched.next_offset)
    assert (fetched.batches, fetched.next_offset, fetched.stable_offset) == ([], 4, 4)
    await begun(broker, "open")
    fetched = await broker.records.fetch("t", 0, 4)
    assert (fetched.batches, fetched.next_offset, fetched.stable_offset, fetched.end_offset) == ([], 4, 4, 5)


async def test_an_uncommitted_read_shows_everything_and_says_whose_it_is(broker):
    """TB-32"""
    committed, aborted, still_open = [await begun(broker, v) for v in ("committed", "aborted", "open")]
    await broker.transactions.commit(committed)
    await broker.transactions.abort(aborted)
    fetched = await broker.records.fetch("t", 0, "earliest", isolation="read_uncommitted")
    batches = [(b.transaction, b.is_control) for b in fetched.batches]
    assert batches == [
        (committed, False), (aborted, False), (still_open, False), (committed, True), (aborted, True),
    ]  # fmt: skip
    assert fetched.aborted == [(aborted.producer_id, 1)]
    assert await values_of(broker, "t") == ["committed"]


async def test_readers_behind_an_open_transaction_sleep_until_it_ends_on_any_broker(redis_url, prefix):
    """TB-33: new records behind an open transaction cause no Redis reads; its end wakes all waiters at once."""
    async with two(redis_url, prefix, transaction_buffer_snapshot_max_transaction_count=0) as (first, second):
        await first.topics.create("t", 20)
        await second.topics.describe("t")
        txn = (await first.transactions.begin()).id
        for number in range(20):
            await first.records.produce("t", records("open"), partition=number, transaction=txn)
        waiting = [asyncio.create_task(second.records.fetch("t", n, 0, wait_ms=20_000)) for n in range(20)]
        await asyncio.sleep(1.3)  # past the first look of the safety net
        reads = await commands(second)
        for number in range(20):
            await first.records.produce("t", records("behind"), partition=number)
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in waiting)
        assert await commands(second) == reads, "a waiter read the log behind an open transaction"
        started = asyncio.get_running_loop().time()
        async with busy_machine(second) as machine:
            await first.transactions.commit(txn)
            fetched = await asyncio.gather(*waiting)
        assert asyncio.get_running_loop().time() - started < 0.5 + machine.lost_s
        assert [len(f.batches) for f in fetched] == [2] * 20
        assert (first.waiters.missed, second.waiters.missed) == (0, 0)


async def commands(broker):
    """Redis statistics of log reads (XRANGE) since the server started.  Tests of one worker run in sequence."""
    info = (await broker.store.command("INFO", "commandstats")).decode()
    return [line.split(",")[0] for line in info.splitlines() if line.startswith("cmdstat_xrange:")]


async def test_a_fetch_that_waits_is_woken_by_a_produce_at_another_broker(redis_url, prefix):
    """TB-33, TB-28: within a fraction of a second, and not by the safety net."""
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t")
        for number in range(5):
            waiting = asyncio.create_task(second.records.fetch("t", 0, number, wait_ms=10_000))
            await asyncio.sleep(0.05)
            await first.records.produce("t", records(str(number)))
            async with within(0.5):
                assert len((await waiting).batches) == 1
        assert second.waiters.missed == 0


async def test_a_fetch_that_finds_nothing_answers_after_its_wait(broker):
    """TB-33"""
    started = asyncio.get_running_loop().time()
    async with busy_machine(broker) as machine:
        fetched = await broker.records.fetch("t", 0, "latest", wait_ms=200)
    assert 0.15 < asyncio.get_running_loop().time() - started < 1 + machine.lost_s
    assert fetched.batches == []


async def test_reader_cancelled_while_subscribing_does_not_affect_others(broker):
    """TB-33: readers of one partition share a subscription; the one that came first may be cancelled."""
    first = asyncio.create_task(broker.records.fetch("t", 0, 0, wait_ms=10_000))
    second = asyncio.create_task(broker.records.fetch("t", 0, 0, wait_ms=10_000))
    while not broker.waiters._channels:
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0.05)
    await broker.records.produce("t", records("here"))
    async with within(1):
        assert len((await second).batches) == 1


async def test_a_partition_counts_what_was_committed_and_aborted(broker):
    """TB-35"""
    await broker.transactions.commit(await begun(broker, "a"))
    await broker.transactions.abort(await begun(broker, "b"))
    await begun(broker, "c")
    keys = (await broker.catalog.partition("t", 0)).keys
    assert await broker.store.command("HMGET", keys.state, "committed", "aborted", key=keys.state) == [b"1", b"1"]
    assert (await heads(broker))[3] == 1


@pytest.mark.timeout(300)
@pytest.mark.parametrize("ends", [75, pytest.param(750, marks=pytest.mark.full)])
async def test_no_reader_sees_an_undecided_record_or_misses_one_below_the_stable_offset(ends, redis_url, prefix):
    """TB-38: ten readers poll at two brokers during ten thousand commits (`make test-all`), and half as many aborts."""
    writers = 20
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t")
        decided: set[str] = set()
        finished = asyncio.Event()

        async def reader(broker):
            seen: list[str] = []
            at = 0
            while True:
                last = finished.is_set()
                fetched = await broker.records.fetch("t", 0, at, wait_ms=0 if last else 20)
                for batch in fetched.batches:
                    seen.append(batch.data[-6:].decode(errors="replace"))
                    assert batch.transaction is None or str(batch.transaction) in decided
                assert fetched.next_offset <= fetched.stable_offset
                at = fetched.next_offset
                if last and not fetched.batches:
                    return seen

        async def writer(number):
            for n in range(ends):
                txn = (await first.transactions.begin()).id
                await first.records.produce("t", records(f"{number}:{n:03}"), transaction=txn)
                if n % 3:
                    decided.add(str(txn))
                    await first.transactions.commit(txn)
                else:
                    await first.transactions.abort(txn)

        readers = [asyncio.create_task(reader((first, second)[n % 2])) for n in range(10)]
        await asyncio.gather(*(writer(n) for n in range(writers)))
        finished.set()
        count = writers * sum(1 for n in range(ends) if n % 3)
        assert [len(seen) for seen in await asyncio.gather(*readers)] == [count] * 10
