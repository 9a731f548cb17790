"""Lag, seek and deletion are the same calls for subscriptions and Kafka groups: the same tests for both."""

from __future__ import annotations

import pytest

from redis_ledger.broker.groups.lag import Reader
from redis_ledger.broker.subscriptions import cursor_administration
from redis_ledger.broker.subscriptions.cursor_administration import totals
from redis_ledger.errors import (
    GroupNotEmpty,
    OffsetOutOfRange,
    StoreUnavailable,
    UnknownPartition,
    UnknownSubscription,
    UnknownTopic,
)
from redis_ledger.ids import MessageId
from tests.support.broker import heads, records, two, values_of
from tests.support.group_offsets import commit, offsets
from tests.support.kafka_groups import nodes, settled

KINDS = ["exclusive", "failover", "shared", "kafka"]


class Cursor:
    """What consumers do: `take` acknowledges the next records of partition 0, at once or in a transaction."""

    def __init__(self, broker, kind):
        self.broker, self.kind, self.at = broker, kind, 0

    async def open(self):
        if self.kind == "kafka":
            await self.broker.external_offsets.note("s", "t", {0: 0, 1: 0})
        else:
            await self.broker.subscriptions.create("t", "s", self.kind)
        return self

    async def take(self, count, txn=None):
        self.at += count
        if self.kind == "kafka":
            await self.broker.external_offsets.note("s", "t", {0: self.at}, txn)
            return
        found = await self.broker.subscriptions.receive("t", "s", "c1", max_records=count, partitions=[0])
        await self.broker.subscriptions.ack("t", "s", "c1", [each.id for each in found], transaction=txn)

    async def unread(self):
        """What a consumer gets next on partition 0."""
        if self.kind == "kafka":
            [stored] = await self.broker.offsets.fetch("s", [("t", 0)])
            return await values_of(self.broker, "t", offset=stored.offset)
        found = await self.broker.subscriptions.receive("t", "s", "c1", partitions=[0])
        await self.broker.subscriptions.nack("t", "s", "c1", None)
        return [each.value.decode() for each in found]


@pytest.fixture(params=KINDS)
async def world(request, redis_url, prefix):
    """Another broker, the cursor's one, and the cursor; ten records."""
    async with two(redis_url, prefix) as (other, broker):
        await broker.topics.create("t", 2)
        await broker.records.produce("t", records(*"abcdefghij", partition=0))
        yield other, broker, await Cursor(broker, request.param).open()


async def begun(broker, *values):
    txn = (await broker.transactions.begin()).id
    await broker.records.produce("t", records(*values, partition=0), transaction=txn)
    return txn


async def lag_of(broker):
    return (await broker.cursors.lag("t", "s")).partitions[0]


async def test_the_lag_is_what_is_not_acknowledged(world):
    """OB-05"""
    other, _, cursor = world
    await cursor.take(3)
    for each in world[:2]:
        found = await each.cursors.lag("t", "s")
        assert (found.reader, [p.records for p in found.partitions]) == (Reader("t", "s", cursor.kind), [7, 0])
        assert totals(found.partitions) == (7, True)
        lag = found.partitions[0]
        assert (lag.position, lag.stable_offset, lag.end_offset, lag.undecided, lag.is_exact) == (3, 10, 10, 0, True)
        assert lag.oldest_ms is not None
        assert lag.bytes > 0
    await cursor.take(7)
    assert (await lag_of(other))[1:] == (10, 10, 10, 0, 0, 0, 0, 0, None, 0, True)


async def test_markers_and_aborted_records_are_no_lag_and_open_ones_are_undecided(world):
    other, broker, cursor = world
    await cursor.take(10)
    aborted, committed = await begun(broker, "x"), await begun(broker, "y")
    await broker.transactions.abort(aborted)
    await broker.transactions.commit(committed)
    opened = await begun(broker, "z", "z")
    lag = await lag_of(other)
    _, stable, end, _ = await heads(broker)
    assert (lag.records, lag.is_exact, lag.stable_offset, lag.undecided) == (1, True, stable, end - stable)
    assert lag.undecided == 2
    await broker.transactions.abort(opened)
    assert (await lag_of(other)).records == 1


async def test_a_long_log_is_counted_by_offsets(world, monkeypatch):
    other, broker, _ = world
    for value in "xyz":
        await broker.transactions.abort(await begun(broker, value))
    monkeypatch.setattr("redis_ledger.cursor.scripts.stats.__kwdefaults__", {"entries_max": 1})
    lag = await lag_of(other)
    assert (lag.records, lag.is_exact) == (16, False)


async def test_what_a_transaction_acknowledges_is_pending_and_lag_until_it_commits(world):
    """OB-05, AK-32"""
    other, broker, cursor = world
    txn = (await broker.transactions.begin()).id
    await cursor.take(2, txn)
    lag, pending = await lag_of(other), await other.inspection.pending("t", "s", partition=0)
    assert (lag.position, lag.records, lag.pending) == (0, 10, 1 if cursor.kind == "kafka" else 2)
    [held] = pending.partitions[0].transactions
    assert (pending.kind, held.transaction, held.producer) == (cursor.kind, txn, None)
    assert abs(held.since_ms - broker.clock.now_ms()) < 60_000
    await other.transactions.commit(txn)
    lag, pending = await lag_of(broker), await broker.inspection.pending("t", "s", partition=0)
    assert (lag.position, lag.records, lag.pending, pending.partitions[0].transactions) == (2, 8, 0, [])


async def test_a_cursor_moves_by_place_offset_and_time(world):
    other, broker, cursor = world
    await cursor.take(4)
    for how, expected in (
        ({"to": "latest"}, 10), ({"to": "earliest"}, 0), ({"offsets": {0: 6}}, 6),
        ({"timestamp_ms": broker.clock.now_ms() + 3_600_000}, 10), ({"timestamp_ms": 0}, 0),
    ):  # fmt: skip
        moved = await other.cursors.seek("t", "s", **how)
        lag = await lag_of(broker)
        assert (moved.kind, moved.cursors[0].mark_delete, lag.position) == (cursor.kind, expected, expected)
        assert lag.records == 10 - expected
        assert await cursor.unread() == list("abcdefghij")[expected:]
    for how, error in (
        ({"offsets": {0: 11}}, OffsetOutOfRange), ({"offsets": {7: 0}}, UnknownPartition),
    ):  # fmt: skip
        with pytest.raises(error):
            await other.cursors.seek("t", "s", **how)
    assert (await lag_of(broker)).position == 0


@pytest.mark.parametrize("commit", [True, False])
async def test_a_seek_drops_what_open_transactions_hold(world, commit):
    """AK-30: the end of the transaction changes nothing."""
    other, broker, cursor = world
    txn = (await broker.transactions.begin()).id
    await cursor.take(4, txn)
    await other.cursors.seek("t", "s", offsets={0: 2})
    assert (await other.inspection.pending("t", "s", partition=0)).partitions[0].transactions == []
    await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
    assert ((await lag_of(other)).position, await cursor.unread()) == (2, list("cdefghij"))


async def test_a_deleted_cursor_is_gone_everywhere(world):
    other, broker, cursor = world
    await cursor.take(4)
    await other.cursors.delete("t", "s")
    for each in (other, broker):
        for call in (each.cursors.lag, each.cursors.delete, each.cursors.kind):
            with pytest.raises(UnknownSubscription):
                await call("t", "s")
        with pytest.raises(UnknownSubscription):
            await each.cursors.seek("t", "s", to="latest")
        assert (await each.cursors.lags()).lags == []
    assert await broker.offsets.fetch("s", None) == []
    cursor.at = 0
    await cursor.open()
    assert (await lag_of(other)).records == 10


async def test_lags_are_listed_by_topic_and_name_in_pages(world, monkeypatch):
    other, broker, cursor = world
    await broker.topics.create("u", 1)
    await broker.subscriptions.create("t", "a/b")
    await broker.subscriptions.create("u", "s")
    await cursor.take(4)
    every = [("t", "a/b", 10), ("t", "s", 6), ("u", "s", 0)]

    async def pages(**given):
        seen, after = [], ""
        while after is not None:
            page = await other.cursors.lags(after=after, **given)
            assert len(page.lags) <= given.get("limit", 100)
            seen += [(*each.reader[:2], each.records) for each in page.lags]
            after = page.following
        return seen

    for limit in (1, 2, 3):
        assert await pages(limit=limit) == every
    assert await pages(name="s") == every[1:]
    assert await pages(topic="t") == every[:2]
    assert await pages(topic="u", name="a/b") == []
    assert await pages(may_see=lambda reader: reader.name != "a/b") == every[1:]
    for bound in ("CURSORS_MAX", "TOPICS_MAX"):
        monkeypatch.setattr(cursor_administration, bound, 1)
        assert await pages() == every
    with pytest.raises(UnknownTopic):
        await other.cursors.lags("none")
    assert (await other.cursors.lags(name="")).lags == []  # the sentinel of the hash of subscriptions


async def test_pages_of_a_lag_cover_every_partition(world, monkeypatch):
    monkeypatch.setattr(cursor_administration, "PARTITIONS_MAX", 2)
    other, broker, _ = world
    await broker.topics.grow("t", 5)
    seen, at = [], 0
    while at is not None:
        page = await other.cursors.lag("t", "s", from_partition=at)
        seen += [(each.partition, each.records) for each in page.partitions]
        at = page.next_partition
    assert seen == [(0, 10), (1, 0), (2, 0), (3, 0), (4, 0)]


# -- what only a group has ---------------------------------------------------------------------------------------------


async def test_a_group_with_members_is_neither_moved_nor_deleted_at_any_broker(redis_url, prefix):
    async with nodes(redis_url, redis_url, prefix=prefix) as (first, second):
        await first.broker.topics.create("t", 1)
        await first.broker.records.produce("t", records(*"abc"))
        await first.broker.external_offsets.note("g", "t", {0: 1})
        member = await settled(first)
        for node in (first, second):
            for work in (node.broker.cursors.seek("t", "g", to="latest"), node.broker.cursors.delete("t", "g")):
                with pytest.raises(GroupNotEmpty):
                    await work
            assert (await node.broker.cursors.lag("t", "g")).partitions[0].position == 1
        await member.leave()
        await second.broker.cursors.seek("t", "g", to="latest")
        assert (await first.broker.cursors.lag("t", "g")).partitions[0].position == 3
        await second.broker.cursors.delete("t", "g")
        assert await first.broker.offsets.fetch("g", None) == []


async def test_a_member_that_reads_its_offset_during_a_seek_is_not_overtaken(redis_url, prefix, monkeypatch):
    async with two(redis_url, prefix) as (broker, other):
        await broker.topics.create("t", 1)
        await broker.records.produce("t", records(*"abc"))
        await broker.external_offsets.note("g", "t", {0: 1})

        async def check_empty(group):  # it is, and then a member of generation 4 comes and reads
            await other.offsets.fetch(group, [("t", 0)], raise_fence=4)

        monkeypatch.setattr(broker.groups, "check_empty", check_empty)
        with pytest.raises(GroupNotEmpty):
            await broker.cursors.seek("t", "g", to="latest")
        [stored] = await other.offsets.fetch("g", [("t", 0)])
        assert stored.offset == 1


async def test_a_deletion_that_was_paused_leaves_offsets_of_members_that_came_since(redis_url, prefix, monkeypatch):
    async with two(redis_url, prefix) as (broker, other):
        await broker.topics.create("t", 2)
        await broker.external_offsets.note("g", "t", {0: 1})

        async def check_empty(group):  # it is, and then this broker is paused
            await commit(other, ("t", 0, 2), ("t", 1, 3), fence=1)

        monkeypatch.setattr(broker.groups, "check_empty", check_empty)
        with pytest.raises(StoreUnavailable):
            await broker.cursors.delete("t", "g")
        assert await offsets(other) == {("t", 0): 2, ("t", 1): 3}


async def test_a_group_without_an_offset_has_no_lag_and_can_be_given_one(redis_url, prefix):
    async with two(redis_url, prefix) as (broker, other):
        await broker.topics.create("t", 2)
        await broker.records.produce("t", records(*"abc", partition=0))
        await broker.external_offsets.note("g", "t", {1: 0})
        lag = (await other.cursors.lag("t", "g")).partitions[0]
        assert (lag.position, lag.records, lag.oldest_ms) == (-1, 0, None)
        await other.cursors.seek("t", "g", offsets={0: 1})
        lag = (await broker.cursors.lag("t", "g")).partitions[0]
        assert (lag.position, lag.records) == (1, 2)


async def test_a_subscription_is_acknowledged_ahead_and_leased_records_are_lag(redis_url, prefix):
    async with two(redis_url, prefix) as (broker, other):
        await broker.topics.create("t", 1)
        await broker.records.produce("t", records(*"abcde"))
        await broker.subscriptions.create("t", "s")
        await broker.subscriptions.receive("t", "s", "c1", max_records=4)
        await broker.subscriptions.ack("t", "s", "c1", [MessageId(0, 1), MessageId(0, 2)])
        lag = (await other.cursors.lag("t", "s")).partitions[0]
        assert (lag.position, lag.records, lag.leased, lag.pending) == (0, 3, 2, 0)
