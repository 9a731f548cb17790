"""The index of scheduled records beside consumers, clear, delete, growth and retention of a topic."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import UnknownTopic
from redis_ledger.store.store import Store
from tests.support.broker import backlog, one, records
from tests.support.rest import client_of
from tests.support.scheduled import BUCKETS, HOUR_MS, ScheduledTopic, scheduling

YEAR_MS = 365 * 24 * HOUR_MS


# -- DD-10: without consumers ------------------------------------------------------------------------------------------


async def test_an_index_outlives_its_consumers_and_its_brokers_unchanged(redis_url, prefix):
    """DD-10: a thousand wait in buckets; the consumer goes, the broker goes, and others come."""
    larger = {**BUCKETS, "delayed_delivery_min_index_count_per_bucket": 200}
    async with scheduling(redis_url, prefix, **larger) as topic:
        due = topic.in_ms(HOUR_MS)
        await topic.broker.subscriptions.create("t", "s")
        await topic.received("s", "consumer")
        values = await topic.fill_buckets(5, due, size=200)
        before = (await topic.buckets(), await topic.snapshots())
    async with one(redis_url, prefix, **larger) as broker:
        again = ScheduledTopic(broker, "t")
        assert (await again.buckets(), await again.snapshots()) == before
        assert await again.waiting() == len(values) == 1_000
        assert await again.received("s", "another") == []
        await again.release(due + 20_000)
        assert await again.received_all("s", 1_000) == values


async def lose(topic, name):
    """One of the keys of the index."""
    index = await topic.index()
    await topic.broker.store.command("DEL", getattr(index.scripts.delay, name), key=index.scripts.keys.state)


async def damage(topic, field, data):
    for bucket in await topic.buckets():
        await topic.damage(bucket, field, data)


DAMAGES = {
    "the open set": partial(lose, name="open"),
    "the queue": partial(lose, name="queue"),
    "the list of buckets": partial(lose, name="buckets"),
    "what is to be loaded next": partial(lose, name="next"),
    "the metadata of snapshots": partial(damage, field=0, data=None),
    "a segment of snapshots": partial(damage, field=3, data=b"no segment"),
}


@pytest.mark.parametrize("lost", DAMAGES)
async def test_damaged_index_is_rebuilt_from_the_delay_ledgers(topic, lost):
    """DD-10: with an open bucket, two sealed ones and a loaded segment; what fired or was cancelled stays away."""
    due = topic.in_ms(HOUR_MS)
    values = await topic.fill_buckets(2, due) + await topic.fill(5, due + HOUR_MS, name="open")
    assert await topic.release(due + 10) == values[:2]
    waiting = await topic.listed()
    await topic.broker.delayed.cancel("t", [waiting[0].id, waiting[-1].id])
    left = values[3:-1]
    await DAMAGES[lost](topic)
    assert await topic.broker.delayed.rebuild("t") == len(left)
    assert (await topic.listed_values(), await topic.waiting()) == (left, len(left))
    assert await topic.release(due + 10) == []
    assert await topic.release(due + 2 * HOUR_MS) == left


# -- DD-11: clear ------------------------------------------------------------------------------------------------------


async def test_clearing_a_hundred_leaves_none(topic):
    """DD-11: nothing is pending, and nothing of it comes when it would have been due."""
    due = topic.in_ms(HOUR_MS)
    await topic.fill(100, due)
    assert await topic.broker.delayed.clear("t") == 100
    assert (await topic.waiting(), await topic.listed()) == (0, [])
    assert await topic.release(due + HOUR_MS) == []


async def test_clearing_a_thousand_and_one_empties_buckets_snapshots_queue_and_open_set(redis_url, prefix):
    """DD-11: by REST, with ten sealed buckets, a loaded segment, one in the open bucket, and a transaction's, which
    stay its own."""
    larger = {**BUCKETS, "delayed_delivery_min_index_count_per_bucket": 100}
    async with scheduling(redis_url, prefix, **larger) as topic, client_of(topic.broker) as client:
        due = topic.in_ms(HOUR_MS)
        txn = (await topic.broker.transactions.begin()).id
        await topic.fill_buckets(10, due, size=100)
        await topic.schedule({"one more": due, "at once": 0})
        await topic.schedule({"of a transaction": due}, transaction=txn)
        assert len(await topic.release(due)) == 2
        answer = await client.delete("/v1/topics/t/scheduled")
        assert answer.json() == {"cancelled": 999}
        stats = await topic.stats()
        assert (stats.records, stats.entries, stats.loaded, stats.snapshot_bytes) == (0, 0, 0, 0)
        assert (await topic.buckets(), await topic.snapshots()) == ([], set())
        assert await topic.release(due + HOUR_MS) == []
        await topic.fill(1, due, name="afterwards")
        await topic.broker.transactions.commit(txn)
        assert sorted(await topic.release(due + HOUR_MS)) == ["afterwards0", "of a transaction"]


# -- DD-12: delete -----------------------------------------------------------------------------------------------------


async def test_a_deleted_topic_leaves_no_key_and_no_record_though_its_broker_is_gone(redis_url, prefix):
    """DD-12: after a restart, by a broker that has not looked at the index; one of the snapshots was never listed."""
    async with scheduling(redis_url, prefix, partitions=2) as topic:
        due = topic.in_ms(HOUR_MS)
        await topic.fill_buckets(3, due)
        await topic.fill(5, due, partition=1)
        assert await (await topic.index()).scripts.write("0123456789abcdef", [(0, b"left behind")], due)
        assert len(await topic.snapshots()) == 4
    async with one(redis_url, prefix, **BUCKETS) as broker:
        await broker.topics.delete("t")
        again = ScheduledTopic(broker, "t")
        assert await again.keys() == set()
        with pytest.raises(UnknownTopic):
            await again.waiting()
        await broker.topics.create("t", 1)
        assert (await again.waiting(), await again.release(due + HOUR_MS)) == (0, [])


async def test_deleting_a_subscription_takes_nothing_from_the_others(topic):
    """DD-12: the index is the topic's, so the last of its subscriptions may go too, and what is due comes to a new
    one."""
    due = topic.in_ms(HOUR_MS)
    values = await topic.fill_buckets(1, due)
    for name in ("a", "b"):
        await topic.broker.subscriptions.create("t", name)
    before = await topic.delay_keys()
    for name in ("a", "b"):
        await topic.broker.subscriptions.delete("t", name)
    assert await topic.delay_keys() == before
    await topic.release(due + HOUR_MS)
    await topic.broker.subscriptions.create("t", "c")
    assert await topic.received_all("c", 20) == values


# -- DD-13: more partitions --------------------------------------------------------------------------------------------


async def test_new_partitions_begin_with_nothing_that_waits(topic):
    """DD-13: no count, no bucket, no snapshot; and what is scheduled there is there alone."""
    due = topic.in_ms(HOUR_MS)
    values = await topic.fill_buckets(2, due)
    before = await topic.delay_keys()
    await topic.broker.topics.grow("t", 3)
    stats = await topic.broker.delayed.counts("t")
    assert [(s.records, s.entries, s.snapshot_bytes) for s in stats[1:]] == [(0, 0, 0)] * 2
    made = ("state", "open", "closing", "queue", "live", "parts", "moved", "buckets", "next", "snaps", "repeats")
    new = {key for key in await topic.delay_keys() if "{t:0}" not in key}
    assert new == {f"{{t:{number}}}:delay:{name}" for number in (1, 2) for name in made}  # empty, from the beginning
    await topic.fill(3, due, name="new", partition=2)
    assert await topic.buckets(2) == []
    assert await topic.release(due + HOUR_MS, partition=2) == ["new0", "new1", "new2"]
    assert {key for key in await topic.delay_keys() if "{t:0}" in key} == before
    assert await topic.release(due + HOUR_MS) == values


# -- DD-15: equal delays -----------------------------------------------------------------------------------------------


async def test_with_equal_delays_nothing_is_read_ahead_and_one_out_of_order_is_still_first(topic, monkeypatch):
    """DD-15: a hundred in the order of their times, and then one that is due before them."""

    store, due, reads = topic.broker.store, topic.in_ms(HOUR_MS), list[Any]()

    def command(*args: Any, **more: Any) -> Any:
        if args[0] in ("XRANGE", "XREVRANGE"):
            reads.append(args)
        return Store.command(store, *args, **more)

    monkeypatch.setattr(store, "command", command)
    values = [value for at in range(100) for value in await topic.fill(1, due + at, name=f"{at}.")]
    assert reads == []
    await topic.listed()
    assert reads != []
    await topic.schedule({"before them": due - 1})
    assert await topic.release(due - 1) == ["before them"]
    assert await topic.release(due + 100) == values


# -- DD-16: what it costs ----------------------------------------------------------------------------------------------


async def test_scheduled_records_are_shown_apart_from_the_backlog(topic):
    """DD-16: a backlog of three beside ten that wait, and the bytes these take."""
    await topic.broker.subscriptions.create("t", "s")
    await topic.broker.records.produce("t", records("a", "b", "c"))
    await topic.fill(10, topic.in_ms(YEAR_MS))
    stats = await topic.stats()
    assert (await backlog(topic.broker, "t", "s"), stats.records) == (3, 10)
    assert stats.payload_bytes >= 10 * 61
    async with client_of(topic.broker) as client:
        total = (await client.get("/v1/topics/t/scheduled:stats")).json()["total"]
    assert (total["records"], total["payload_bytes"]) == (10, stats.payload_bytes)


async def test_a_message_of_a_year_ahead_neither_holds_the_log_nor_counts_against_what_it_may_keep(redis_url, prefix):
    """DD-16: the topic keeps 5 000 bytes and gets forty times as much: produce succeeds, the log is trimmed up to its
    end past the message that waits, and that is still there in a year."""
    async with scheduling(redis_url, prefix, topic_settings={"retention_bytes": 5_000}) as topic:
        due = topic.in_ms(YEAR_MS)
        await topic.broker.records.produce("t", [NewRecord(None, b"f" * 100_000, deliver_at_ms=due)])
        for _ in range(20):
            await topic.broker.records.produce("t", [NewRecord(None, b"x" * 10_000)])
        await topic.broker.maintenance.retain()
        (state,) = (await topic.broker.topics.describe("t"))[1]
        assert (state.start_offset >= 19, state.end_offset, state.bytes <= 5_000) == (True, 20, True)
        assert (await topic.stats()).payload_bytes > 100_000
        released = await topic.release(due)
        assert [len(value) for value in await topic.values()][-1:] == [100_000], released
