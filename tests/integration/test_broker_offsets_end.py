"""Removal of a Kafka group's offsets: one by one, with the group, or by retention."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.cursor import group_offsets
from redis_ledger.errors import StoreUnavailable, UnknownPartition, UnknownTopic
from redis_ledger.groups import coordinator
from redis_ledger.store.keys import GroupKeys, PartitionKeys
from redis_ledger.store.store import Store
from tests.support.broker import one
from tests.support.consumer_members import Member as ConsumerMember
from tests.support.group_offsets import commit, in_transaction, offsets, registry
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_groups import Member as ClassicMember
from tests.support.kafka_offsets import fetch

pytestmark = pytest.mark.usefixtures("both_ways")

WEEK_MS = 604_800_000


class Clock:
    """The test's time; the servers' own is not asked."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now = now_ms

    def now_ms(self) -> int:
        return self.now


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", partitions=3)
        yield broker


async def test_deleted_offsets_are_none_and_a_topic_without_any_is_left(broker):
    await broker.topics.create("u")
    await commit(broker, ("t", 0, 1), ("t", 2, 2), ("u", 0, 3))
    outcomes = await broker.offsets.delete("g", [("t", 2), ("t", 1), ("nope", 0), ("t", 7)])
    assert [type(outcome) for outcome in outcomes] == [type(None), type(None), UnknownTopic, UnknownPartition]
    assert await offsets(broker) == {("t", 0): 1, ("u", 0): 3}
    assert await broker.subscriptions.list("t") == [("g", "kafka")]
    await broker.offsets.delete("g", [("t", 0)])
    assert (await broker.offsets.topics_of("g"), await broker.subscriptions.list("t")) == ({"u"}, [])


async def test_the_offset_of_partition_0_can_go_while_another_stays(broker):
    await commit(broker, ("t", 0, 1), ("t", 2, 2))
    await broker.offsets.delete("g", [("t", 0)])
    assert (await offsets(broker), await broker.subscriptions.list("t")) == ({("t", 2): 2}, [("g", "kafka")])


async def test_a_deleted_group_leaves_nothing(broker):
    before = await broker.store.command("DBSIZE")
    await broker.topics.create("u")
    made = await broker.store.command("KEYS", f"{broker.store.prefix}:*")
    await commit(broker, ("t", 0, 1), ("t", 2, 2), ("u", 0, 3), fence=4)
    await in_transaction(broker, ("t", 1, 5))
    await broker.offsets.delete_group("g")
    await broker.groups.delete("g")
    left = set(await broker.store.command("KEYS", f"{broker.store.prefix}:*")) - set(made)
    assert (left, before > 0) == (set(), True)
    assert (await offsets(broker), await registry(broker), await broker.subscriptions.list("t")) == ({}, {}, [])


async def test_a_group_with_offsets_that_cannot_be_reached_is_listed_until_they_are_deleted(broker, monkeypatch):
    await broker.topics.create("u")
    await commit(broker, ("t", 0, 1), ("t", 1, 2), ("t", 2, 3), ("u", 0, 4))
    delete = group_offsets.delete

    async def failing(store: Store, keys: PartitionKeys, *args: Any) -> bool:
        if keys.state == PartitionKeys(store.prefix, "t", 1).state:
            raise StoreUnavailable("The shard is down.")
        return await delete(store, keys, *args)

    monkeypatch.setattr(group_offsets, "delete", failing)
    with pytest.raises(StoreUnavailable, match="'g' on t may be left; repeat the request"):
        await broker.groups.delete("g")
    monkeypatch.undo()
    assert (await offsets(broker), await broker.groups.names()) == ({("t", 1): 2}, ["g"])
    await broker.groups.delete("g")
    assert (await offsets(broker), await broker.groups.names()) == ({}, [])


async def test_deletion_that_was_paused_leaves_offsets_of_a_later_generation(broker):
    # Given members that have joined at another broker while this one was paused in its deletion
    await commit(broker, ("t", 0, 1), ("t", 1, 2), fence=4)
    await commit(broker, ("t", 1, 20), fence=5)
    with pytest.raises(StoreUnavailable):
        await broker.offsets.delete_group("g", 4)
    assert await offsets(broker) == {("t", 1): 20}


async def test_on_a_cluster_a_group_comes_and_goes_as_on_one_server(cluster_url, prefix):
    async with one(cluster_url, prefix) as broker:
        for topic in ("t", "u"):
            await broker.topics.create(topic, partitions=3)
        await commit(broker, ("t", 0, 1), ("t", 2, 2), ("u", 1, 3), fence=2)
        await broker.transactions.commit(await in_transaction(broker, ("u", 1, 5), ("t", 1, 4)))
        assert await offsets(broker, raise_fence=3) == {("t", 0): 1, ("t", 1): 4, ("t", 2): 2, ("u", 1): 5}
        await broker.offsets.delete("g", [("u", 1)])
        assert await broker.offsets.topics_of("g") == {"t"}
        await broker.offsets.delete_group("g", 3)
        await broker.groups.delete("g")
        assert (await offsets(broker), await registry(broker)) == ({}, {})


async def test_a_deleted_group_leaves_a_subscription_that_has_taken_its_name(broker):
    await commit(broker, ("t", 0, 1))
    await broker.subscriptions.delete("t", "g")
    await broker.subscriptions.create("t", "g")
    await broker.offsets.delete_group("g")
    assert await broker.subscriptions.list("t") == [("g", "shared")]


class Timed(NamedTuple):
    """A broker whose time is the test's."""

    broker: Broker
    time: Clock
    owners: set[str]

    async def expire(self, times: int = 1) -> list[int]:
        """Runs the expiry with `owners` as the live brokers."""
        return [await self.broker.offsets.expire(self.owners.__contains__) for _ in range(times)]


@pytest.fixture
async def timed(redis_url, prefix):
    clock = Clock()
    async with one(redis_url, prefix, clock=clock) as broker:
        await broker.topics.create("t", partitions=3)
        yield Timed(broker, clock, set())


async def test_offsets_of_a_group_without_members_expire_a_week_after_its_last_commit(timed):
    await commit(timed.broker, ("t", 0, 1), ("t", 2, 2))
    timed.time.now += WEEK_MS
    await commit(timed.broker, ("t", 2, 3))
    timed.time.now += 1
    assert await timed.expire(2) == [0, 0]
    assert await offsets(timed.broker) == {
        ("t", 2): 3
    }  # an offset that was not touched goes, the group stays where it is
    assert await timed.broker.subscriptions.list("t") == [("g", "kafka")]
    timed.time.now += WEEK_MS
    assert await timed.expire(2) == [1, 0]
    assert (await offsets(timed.broker), await registry(timed.broker), await timed.broker.subscriptions.list("t")) == (
        {},
        {},
        [],
    )


async def test_a_group_is_looked_at_twice_before_it_loses_anything(timed):
    await commit(timed.broker, ("t", 0, 1))
    timed.time.now += WEEK_MS + 1
    assert await timed.expire() == [0]
    assert await offsets(timed.broker) == {("t", 0): 1}
    assert await timed.expire() == [1]


async def test_offsets_of_a_group_that_a_live_broker_owns_do_not_expire(timed):
    state = GroupKeys(timed.broker.store.prefix, "g").state
    await timed.broker.store.command("HSET", state, "owner", "b7", "kind", "classic", key=state)
    await commit(timed.broker, ("t", 0, 1))
    timed.time.now += WEEK_MS + 1
    # It has been silent at one look, and is back at the next
    await timed.expire()
    timed.owners.add("b7")
    assert await timed.expire(3) == [0, 0, 0]
    timed.owners.clear()
    assert await timed.expire(2) == [0, 1]
    # That there is such a group is for its own upkeep to forget
    assert (await timed.broker.offsets.topics_of("g"), await registry(timed.broker)) == (set(), {b"g": b"classic"})


async def test_a_member_that_takes_a_partition_over_keeps_it_from_expiring(timed):
    await commit(timed.broker, ("t", 0, 1), fence=1)
    timed.time.now += WEEK_MS + 1
    await timed.expire()
    await offsets(timed.broker, partitions=[("t", 0)], raise_fence=2)
    assert await timed.expire() == [0]
    assert await offsets(timed.broker) == {("t", 0): 1}


async def test_an_offset_with_another_one_pending_does_not_expire(timed):
    await commit(timed.broker, ("t", 0, 1))
    await in_transaction(timed.broker, ("t", 0, 2))
    timed.time.now += WEEK_MS + 1
    timed.broker.maintenance._tasks[0].cancel()  # the sweep would end the transaction
    assert await timed.expire(2) == [0, 0]
    assert await offsets(timed.broker) == {("t", 0): 1}


@pytest.mark.parametrize("kind", ["classic", "consumer", None])
async def test_reading_the_offsets_of_a_group_without_members_keeps_none_of_them(timed, kind):
    # Given an empty group, or one that never had members
    state = GroupKeys(timed.broker.store.prefix, "g").state
    if kind is not None:
        await timed.broker.store.command("HSET", state, "kind", kind, "generation", 5, key=state)
    await commit(timed.broker, ("t", 0, 1), fence=-1 if kind is None else 4)
    # When a lag exporter reads its offsets every day
    async with listening(timed.broker) as address, KafkaClient(address) as client:
        for _ in range(8):
            timed.time.now += WEEK_MS // 7
            assert await fetch(client, None) == {("t", 0): (1, 0)}
    # Then they expire as if it had not
    assert sum(await timed.expire(2)) == 1
    assert await offsets(timed.broker) == {}


@pytest.mark.parametrize("kind", ["classic", "consumer"])
async def test_offsets_are_kept_for_a_week_after_the_last_member_has_left(timed, kind, monkeypatch):
    monkeypatch.setattr(coordinator, "IDLE_MS", 0)
    groups = timed.broker.groups
    async with listening(timed.broker) as address, KafkaClient(address) as client:
        # Given a member that committed once, and stayed
        member: Any
        if kind == "classic":
            member = ClassicMember(client)
            assert (await member.join()).error_code == 0
            await member.sync({member.id: b""})
            await commit(timed.broker, ("t", 0, 1), fence=member.generation)
        else:
            member = ConsumerMember(client, timed.broker, "m")
            await member.join("t")
            await commit(timed.broker, ("t", 0, 1), fence=member.epoch)
        timed.time.now += 3 * WEEK_MS
        # When it leaves
        await (member.leave() if kind == "classic" else member.send(-1))
        while groups.coordinator.groups:
            await groups.coordinator.check_ownership()
    # Then a week begins
    timed.time.now += WEEK_MS - 1
    assert await timed.expire(3) == [0, 0, 0]
    timed.time.now += 2
    assert sum(await timed.expire(2)) == 1


async def test_offsets_of_a_group_whose_broker_died_with_members_in_it_do_not_expire(timed):
    state = GroupKeys(timed.broker.store.prefix, "g").state
    await timed.broker.store.command("HSET", state, "owner", "gone", "kind", "classic", "members", 2, key=state)
    await commit(timed.broker, ("t", 0, 1), fence=1)
    timed.time.now += WEEK_MS + 1
    assert await timed.expire(3) == [0, 0, 0]
