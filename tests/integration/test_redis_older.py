"""Redis comes back with older data under brokers that run: no offset is assigned twice, and the loss is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import OffsetOutOfRange, UnknownTopic
from redis_ledger.ledger.leader_epochs import GAP
from redis_ledger.records.read import decode
from tests.support.broker import eventually, one, records, values_of
from tests.support.older_redis import FAST, KEEPS, Backup, brokers, holds
from tests.support.proxy import proxy
from tests.support.redis_servers import Server, redis_server


@pytest.fixture
def redis() -> Iterator[Server]:
    with redis_server(**KEEPS) as server:
        yield server


def held_back(broker: Broker) -> asyncio.Event:
    """The broker connects to Redis again only when the event is set."""
    node, gate = broker.store.topology.links()[0], asyncio.Event()
    connect = node.locate

    async def later() -> Any:
        await gate.wait()
        return await connect()

    node.locate = later
    return gate


async def offsets_of(broker: Broker, topic: str, offset: int = 0) -> list[tuple[int, str]]:
    fetched = await broker.records.fetch(topic, 0, offset)
    return [(r.offset, (r.value or b"").decode()) for b in fetched.batches for r in decode(b.data)]


async def epoch_of(broker: Broker, topic_id: str) -> int:
    return broker.leader_epochs.of(topic_id, 0)


def lost(broker: Broker) -> list[tuple[str, int, int, int]]:
    return [(each.topic, each.partition, each.first_offset, each.end_offset) for each in broker.lost_writes.partitions]


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_no_offset_is_assigned_twice_after_a_restore(redis: Server, prefix: str, count: int):
    async with brokers(redis, prefix, count) as all_of_them:
        first, last = all_of_them[0], all_of_them[-1]
        await first.topics.create("orders", 1)
        await first.records.produce("orders", records("old-0", "old-1"))
        backup = Backup(redis)
        for number in range(2, 6):
            await first.records.produce("orders", records(f"lost-{number}"))
        assert await values_of(first, "orders") == ["old-0", "old-1", *(f"lost-{n}" for n in range(2, 6))]
        backup.restore()
        await holds(lambda: bool(lost(first)))
        [(topic, partition, begin, end)] = lost(first)
        assert (topic, partition, begin, end) == ("orders", 0, 2, 6)
        (appended,) = await last.records.produce("orders", records("new"))
        assert appended.base_offset == 6 + GAP + 1
        for broker in all_of_them:
            assert await values_of(broker, "orders") == ["old-0", "old-1", "new"]
            # a reader that stands in the lost part goes on at the new records
            assert await offsets_of(broker, "orders", 4) == [(appended.base_offset, "new")]
            head = await broker.topics.head("orders", 0)
            assert head.leader_epoch == 1
            assert head.end_offset == appended.base_offset + 1
        body = (await first.ready())["lost_writes"]
        assert body["records"] == 4
        assert body["partitions"][0]["first_lost_offset"] == 2


async def test_what_a_broker_has_only_seen_when_it_compared_is_not_lost(redis: Server, prefix: str):
    """At durability `replicas` it may be what no replica has confirmed and no broker has answered."""
    async with brokers(redis, prefix, 1) as [broker]:
        await broker.topics.create("orders", 1)
        await broker.records.produce("orders", records("a"))
        backup = Backup(redis)
        async with one(redis.url, prefix, name="other", **FAST) as other:
            await other.records.produce("orders", records("b"))
        node = broker.store.topology.links()[0]
        first = node.conn
        redis.kill()
        redis.start()
        await holds(lambda: node.conn not in (None, first))
        second = node.conn
        backup.restore()
        await holds(lambda: node.conn not in (None, second))
        await broker.topics.list()
        assert lost(broker) == []
        assert await offsets_of(broker, "orders") == [(0, "a")]


async def test_a_partition_that_lost_all_its_records_is_reported(redis: Server, prefix: str):
    async with brokers(redis, prefix, 1) as [broker]:
        await broker.topics.create("orders", 1)
        backup = Backup(redis)
        await broker.records.produce("orders", records("a", "b"))
        backup.restore()
        await holds(lambda: bool(lost(broker)), within_s=8)
        assert lost(broker) == [("orders", 0, 0, 2)]


async def test_offsets_that_only_a_subscription_delivered_are_remembered(redis: Server, prefix: str):
    async with one(redis.url, prefix, name="b1", **FAST) as delivers:
        async with one(redis.url, prefix, name="b2", **FAST) as appends:
            await appends.topics.create("orders", 1)
            await appends.subscriptions.create("orders", "s", start="earliest")
            backup = Backup(redis)
            await appends.records.produce("orders", records("lost-0", "lost-1"))
        assert len(await delivers.subscriptions.receive("orders", "s", "c")) == 2
        backup.restore()
        await holds(lambda: bool(lost(delivers)))
        assert lost(delivers) == [("orders", 0, 0, 2)]
        (appended,) = await delivers.records.produce("orders", records("new"))
        assert appended.base_offset == 2 + GAP + 1


async def test_calls_that_waited_for_redis_do_not_overtake_the_comparison(redis: Server, prefix: str):
    async with brokers(redis, prefix, 1) as [broker]:
        await broker.topics.create("orders", 1)
        await broker.records.produce("orders", records("old"))
        backup = Backup(redis)
        await broker.records.produce("orders", records("lost"))
        redis.kill()
        waiting = asyncio.ensure_future(broker.records.produce("orders", records("waits")))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        backup.restore()
        assert (await waiting)[0].base_offset == 2 + GAP + 1


async def test_a_broker_that_answered_more_than_the_first_takes_over_once_more(redis: Server, prefix: str):
    async with brokers(redis, prefix, 2) as [knows_less, knows_more]:
        await knows_less.topics.create("orders", 1)
        await knows_less.records.produce("orders", records("old"))
        backup = Backup(redis)
        await knows_more.records.produce("orders", records("lost"))
        # given more lost records than the gap is wide, which only one of the brokers has answered
        (await knows_more.catalog.partition("orders", 0)).offsets.answered.learn(0, 3 * GAP)
        await knows_less.records.produce("orders", records("lost as well"))
        backup.restore()
        await holds(lambda: bool(lost(knows_less)) and bool(lost(knows_more)))
        head = await knows_less.topics.head("orders", 0)
        assert head.end_offset > 4 * GAP
        assert (await knows_more.records.produce("orders", records("new")))[0].base_offset == head.end_offset
        assert await values_of(knows_less, "orders") == ["old", "new"]


async def test_topics_of_the_lost_part_do_not_live_on_in_caches(redis: Server, prefix: str):
    async with brokers(redis, prefix, 2) as [first, second]:
        await first.topics.create("orders", 1)
        backup = Backup(redis)
        await first.topics.create("fresh", 1)
        await first.records.produce("fresh", records("lost"))
        assert await values_of(second, "fresh") == ["lost"]
        await second.catalog.refresh()
        # when the second one is connected after the first has continued the catalog
        gate = held_back(second)
        backup.restore()
        await holds(lambda: bool(lost(first)))
        gate.set()
        for broker in (first, second):
            with pytest.raises(UnknownTopic):
                await broker.records.fetch("fresh", 0, 0)
            # then both report it
            assert lost(broker) == [("fresh", 0, 0, 1)]
            assert broker.lost_writes.kinds["catalog"] == 1
        await second.topics.create("fresh", 1)
        assert (await first.records.produce("fresh", records("again")))[0].base_offset == 0


async def test_lost_acknowledgements_are_detected(redis: Server, prefix: str):
    async with brokers(redis, prefix, 1) as [broker]:
        await broker.topics.create("orders", 1)
        await broker.records.produce("orders", records("a"))
        await broker.subscriptions.create("orders", "s", start="earliest")
        await broker.rollbacks.raise_counters()
        backup = Backup(redis)
        got = await broker.subscriptions.receive("orders", "s", "c")
        await broker.subscriptions.ack("orders", "s", "c", [each.id for each in got])
        await broker.rollbacks.raise_counters()
        backup.restore()
        await holds(lambda: "other" in broker.lost_writes.kinds)
        assert not lost(broker)
        assert await eventually(lambda: one_message(broker), ["a"], 30)


async def one_message(broker: Broker) -> list[str]:
    return [(each.value or b"").decode() for each in await broker.subscriptions.receive("orders", "s", "c2")]


async def test_a_restart_with_all_data_and_a_replica_that_attaches_change_nothing(redis: Server, prefix: str):
    async with brokers(redis, prefix, 2) as all_of_them:
        first = all_of_them[0]
        await first.topics.create("orders", 1)
        await first.records.produce("orders", records("a", "b"))
        txn = (await first.transactions.begin()).id
        await first.records.produce("orders", records("c"), transaction=txn)
        run = redis.info("server")
        redis.kill()
        redis.start()
        assert redis.info("server") != run
        await first.transactions.commit(txn)
        with redis_server(replicaof=f"127.0.0.1 {redis.port}", repl_diskless_sync_delay="0") as replica:
            await holds(lambda: b"master_link_status:up" in replica.info("replication"))
            await asyncio.sleep(1.2)  # two looks
            (after,) = await all_of_them[1].records.produce("orders", records("d"))
        assert after.base_offset == 4
        for broker in all_of_them:
            assert broker.lost_writes.kinds == {}
            assert (await broker.topics.head("orders", 0)).leader_epoch == 0
            assert "lost_writes" not in await broker.ready()


async def test_a_broker_that_was_not_there_compares_with_its_disk(redis: Server, prefix: str, tmp_path):
    folder = str(tmp_path / "state")
    async with brokers(redis, prefix, 2, state_dir=folder) as [first, second]:
        await first.topics.create("orders", 1)
        await first.records.produce("orders", records("old"))
        backup = Backup(redis)
        await first.records.produce("orders", records("lost", "lost"))
        await second.records.produce("orders", records("lost"))
    assert {path.name for path in (tmp_path / "state").glob("*.json")} == {"answered-0.json", "answered-1.json"}
    backup.restore()
    async with brokers(redis, prefix, 1, state_dir=folder) as [later]:
        assert lost(later) == [("orders", 0, 1, 4)]
        assert (await later.records.produce("orders", records("new")))[0].base_offset == 4 + GAP + 1
    # what was found is not found again
    async with brokers(redis, prefix, 1, state_dir=folder) as [later]:
        assert later.lost_writes.kinds == {}


async def test_a_broker_that_starts_afterwards_has_the_leader_epoch(redis: Server, prefix: str):
    async with brokers(redis, prefix, 1) as [broker]:
        await broker.topics.create("orders", 1)
        backup = Backup(redis)
        await broker.records.produce("orders", records("lost"))
        backup.restore()
        await holds(lambda: bool(lost(broker)), within_s=8)
        topic_id = (await broker.catalog.get("orders")).id
        await eventually(lambda: epoch_of(broker, topic_id), 1)
        async with one(redis.url, prefix, name="later", **FAST) as later:
            assert await eventually(lambda: epoch_of(later, topic_id), 1) == 1


async def test_a_broker_that_was_not_there_compares_coordinators_with_its_disk(redis: Server, prefix: str, tmp_path):
    folder = str(tmp_path)
    async with brokers(redis, prefix, 1, state_dir=folder) as [broker]:
        backup = Backup(redis)
        await broker.transactions.begin()
    backup.restore()
    async with brokers(redis, prefix, 1, state_dir=folder) as [later]:
        assert "coordinator" in later.lost_writes.kinds


@pytest.mark.parametrize("is_used", [False, True])
async def test_the_disk_of_another_cluster_is_ignored(redis: Server, prefix: str, tmp_path, is_used: bool):
    folder = str(tmp_path)
    async with brokers(redis, prefix, 1, state_dir=folder) as [broker]:
        await broker.topics.create("orders", 1)
        await broker.records.produce("orders", records("a"))
    redis.ask("FLUSHALL")
    if is_used:  # else this broker begins the cluster
        async with brokers(redis, prefix, 1):
            pass
    async with brokers(redis, prefix, 1, state_dir=folder) as [broker]:
        assert broker.lost_writes.kinds == {}
        await broker.topics.create("orders", 1)
        assert (await broker.records.produce("orders", records("a")))[0].base_offset == 0


async def test_a_position_beyond_the_end_is_out_of_range(redis: Server, prefix: str):
    async with brokers(redis, prefix, 1) as [broker]:
        await broker.topics.create("orders", 1)
        with pytest.raises(OffsetOutOfRange):
            await broker.records.fetch("orders", 0, 1)


async def test_a_broker_that_remembers_less_waits_for_one_that_remembers_more(redis: Server, prefix: str):
    async with one(redis.url, prefix, name="b1", **FAST) as knows_more, proxy("127.0.0.1", redis.port) as relay:
        async with one(relay.url, prefix, name="b2", **FAST) as knows_less:
            await knows_more.topics.create("orders", 1)
            await knows_more.records.produce("orders", records("old"))
            await holds(lambda: len(knows_less.live_brokers.live) == len(knows_more.live_brokers.live) == 2)
            backup = Backup(redis)
            await knows_more.records.produce("orders", records("lost", "lost"))
            # when the broker that knows of nothing lost is connected first
            gate = held_back(knows_more)
            backup.restore()
            appended = asyncio.ensure_future(knows_less.records.produce("orders", records("new")))
            await asyncio.sleep(0.5)  # it would be answered by now
            assert not appended.done()
            gate.set()
            assert (await appended)[0].base_offset == 3 + GAP + 1
            assert await values_of(knows_more, "orders") == ["old", "new"]


async def test_a_broker_that_comes_late_still_finds_that_writes_are_lost(redis: Server, prefix: str):
    async with one(redis.url, prefix, name="b1", **FAST) as late:
        await late.topics.create("orders", 1)
        await late.rollbacks.raise_counters()
        backup = Backup(redis)
        for _ in range(3):
            await late.rollbacks.raise_counters()
        (lost_record,) = await late.records.produce("orders", records("lost"))
        await late.redis_watch.close()
        # when it is cut off, and another one writes past its offsets meanwhile
        gate = held_back(late)
        backup.restore()
        async with one(redis.url, prefix, name="b2", **FAST) as other:
            (again,) = await other.records.produce("orders", records("new"))
            assert again.base_offset == lost_record.base_offset, "nothing tells it"
            for _ in range(9):
                await other.rollbacks.raise_counters()
            gate.set()
            await holds(lambda: late.lost_writes.kinds == {"other": 1})
