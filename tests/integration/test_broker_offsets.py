"""Offsets of Kafka groups through a broker: commits, the registry of groups, and REST."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.errors import (
    IllegalGeneration,
    StaleMember,
    SubscriptionExists,
    UnknownPartition,
    UnknownSubscription,
    UnknownTopic,
    WrongSubscriptionKind,
)
from redis_ledger.store.keys import CatalogKeys, GroupKeys
from tests.support.broker import eventually, one, receive_values, records, two
from tests.support.group_offsets import commit, in_transaction, lags, offsets, registry


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", partitions=3)
        yield broker


# -- commit and fetch --------------------------------------------------------------------------------------------------


async def test_offsets_of_many_partitions_are_committed_together_and_each_has_its_outcome(broker):
    await broker.topics.create("u")
    outcomes = await commit(broker, ("t", 0, 5), ("nope", 0, 1), ("u", 0, 7), ("t", 9, 1), ("t", -1, 1), ("a b", 0, 1))
    assert [type(outcome) for outcome in outcomes] == [
        type(None), UnknownTopic, type(None), UnknownPartition, UnknownPartition, UnknownTopic,
    ]  # fmt: skip
    assert await offsets(broker) == {("t", 0): 5, ("u", 0): 7}
    asked = [("u", 0), ("nope", 0), ("t", 2), ("t", 0), ("t", 0), ("t", 77)]
    found = await broker.offsets.fetch("g", asked)
    assert [(each.topic, each.partition) for each in found] == asked
    assert [each.offset for each in found] == [7, -1, -1, 5, 5, -1]
    assert [each.error for each in found] == [None] * len(asked)


async def test_of_several_commits_of_one_partition_in_a_request_the_last_counts(broker):
    await commit(broker, *(("t", 1, offset) for offset in (4, 9, 1, 6)))
    assert await offsets(broker) == {("t", 1): 6}


async def test_more_offsets_than_may_be_under_way_at_once_are_all_committed(broker):
    await broker.topics.create("wide", partitions=50)
    groups = [f"g{n}" for n in range(30)]
    await asyncio.gather(*(commit(broker, *(("wide", p, p) for p in range(50)), group=g) for g in groups))
    entries = [("wide", n % 50, n) for n in range(2500)]
    assert await commit(broker, *entries) == [None] * 2500
    assert await offsets(broker) == {("wide", p): 2450 + p for p in range(50)}


async def test_a_topic_that_another_broker_let_grow_takes_offsets_on_its_new_partitions(redis_url, prefix):
    async with two(redis_url, prefix) as (a, b):
        await a.topics.create("t", partitions=1)
        await commit(b, ("t", 0, 1))
        await a.catalog.change("t", partitions=3, settings=None)
        assert await commit(b, ("t", 2, 8), ("t", 3, 8)) != [None, None]
        assert await offsets(a) == {("t", 0): 1, ("t", 2): 8}


async def test_offsets_go_with_their_topic_and_a_broker_that_remembers_it_commits_on_the_new_one(redis_url, prefix):
    async with two(redis_url, prefix) as (a, b):
        await a.topics.create("t")
        await commit(b, ("t", 0, 100))
        # When another client deletes and recreates the topic
        await a.topics.delete("t")
        await a.topics.create("t")
        # Then it has no offsets, and takes some
        assert await offsets(b, partitions=[("t", 0)]) == {("t", 0): -1}
        assert await commit(b, ("t", 0, 2)) == [None]
        assert await offsets(a) == {("t", 0): 2}
        assert [name for name, _ in await a.subscriptions.list("t")] == ["g"]


async def test_a_generation_that_another_broker_has_fenced_commits_nothing_more(redis_url, prefix):
    async with two(redis_url, prefix) as (old, new):
        await old.topics.create("t", partitions=2)
        await commit(old, ("t", 0, 5), fence=3)
        # Given that a member of generation 4 has taken the partitions over at the new broker
        assert await offsets(new, partitions=[("t", 0), ("t", 1)], raise_fence=4) == {("t", 0): 5, ("t", 1): -1}
        # When the old one carries what is still on its way there
        late = await commit(old, ("t", 0, 9), ("t", 1, 9), fence=3)
        # Then it is refused, where nothing had been committed too
        assert [type(outcome) for outcome in late] == [IllegalGeneration] * 2
        assert await commit(new, ("t", 0, 6), ("t", 1, 1), fence=4) == [None, None]
        assert await offsets(old) == {("t", 0): 6, ("t", 1): 1}


async def test_a_fenced_member_of_the_new_protocol_gets_a_stale_epoch_error(broker):
    state = GroupKeys(broker.store.prefix, "g").state
    await broker.store.command("HSET", state, "kind", "consumer", key=state)
    await commit(broker, ("t", 0, 5), fence=3)
    assert [type(outcome) for outcome in await commit(broker, ("t", 0, 9), fence=2)] == [StaleMember]


# -- what is noted -----------------------------------------------------------------------------------------------------


async def test_a_group_and_its_topics_are_noted_with_its_first_commit(broker):
    await broker.topics.create("u")
    await commit(broker, ("t", 2, 1), ("u", 0, 1), group="spaced out/ü:{}")
    assert await broker.offsets.topics_of("spaced out/ü:{}") == {"t", "u"}
    assert await registry(broker) == {b"spaced%20out%2F%C3%BC%3A%7B%7D": b"classic"}


async def test_commit_keeps_the_registered_kind_of_a_group(broker):
    k = CatalogKeys(broker.store.prefix)
    await broker.store.command("HSET", k.groups, "g", "consumer", key=k.groups)
    await commit(broker, ("t", 0, 1))
    assert await registry(broker) == {b"g": b"consumer"}


async def test_a_look_at_a_group_notes_nothing_and_a_fetch_of_a_member_does(broker):
    assert await offsets(broker, partitions=[("t", 1)]) == {("t", 1): -1}
    assert (await broker.offsets.topics_of("g"), await registry(broker)) == (set(), {})
    await offsets(broker, partitions=[("t", 1)], raise_fence=1)
    assert (await broker.offsets.topics_of("g"), await registry(broker)) == ({"t"}, {b"g": b"classic"})
    assert await offsets(broker) == {}


# -- over REST ---------------------------------------------------------------------------------------------------------


async def test_a_group_shows_its_lag_among_the_subscriptions(broker):
    await broker.records.produce("t", records("a", "b", "c", partition=2))
    await commit(broker, ("t", 2, 1))
    assert await broker.subscriptions.list("t") == [("g", "kafka")]
    stats = await broker.subscriptions.stats("t", "g")
    assert stats.kind == "kafka"
    assert [(c.mark_delete, c.end, c.backlog, c.pending) for c in stats.cursors] == [
        (-1, 0, 0, 0), (-1, 0, 0, 0), (1, 3, 2, 0),
    ]  # fmt: skip
    txn = await in_transaction(broker, ("t", 2, 3))
    assert [c.pending for c in (await broker.subscriptions.stats("t", "g")).cursors] == [0, 0, 1]
    await broker.transactions.commit(txn)
    assert await lags(broker) == [0, 0, 0]


async def test_a_transaction_spans_acknowledgements_records_and_offsets(broker):
    # Given a transaction that has done one of each
    await broker.subscriptions.create("t", "s")
    await broker.records.produce("t", records("a", "b", partition=0))
    ids = list(await receive_values(broker, "t", "s"))
    txn = await in_transaction(broker, ("t", 0, 2))
    await broker.subscriptions.ack("t", "s", "c1", ids, transaction=txn)
    await broker.records.produce("t", records("c", partition=1), transaction=txn)
    # When it aborts
    await broker.transactions.abort(txn)
    # Then none of it has happened
    assert await offsets(broker) == {}
    assert [lag for name in ("g", "s") for lag in await lags(broker, group=name)] == [0, 0, 0, 2, 0, 0]


async def test_a_group_is_deleted_as_a_subscription_is_and_comes_back_with_its_next_commit(broker):
    await commit(broker, ("t", 1, 4))
    await broker.subscriptions.delete("t", "g")
    assert (await offsets(broker), await broker.subscriptions.list("t")) == ({}, [])
    with pytest.raises(UnknownSubscription):
        await broker.subscriptions.stats("t", "g")
    await commit(broker, ("t", 1, 5))
    assert (await offsets(broker), await broker.subscriptions.list("t")) == ({("t", 1): 5}, [("g", "kafka")])


async def test_a_subscription_of_a_groups_name_is_refused_and_leaves_it_as_it_is(broker):
    await commit(broker, ("t", 1, 4))
    with pytest.raises(SubscriptionExists, match="kafka"):
        await broker.subscriptions.create("t", "g")
    assert await commit(broker, *(("t", n, 7) for n in range(3))) == [None] * 3


async def test_a_group_of_a_subscriptions_name_is_refused_also_where_that_has_no_cursor_yet(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", partitions=1)
        await broker.subscriptions.create("t", "s")
        await broker.catalog.change("t", partitions=2, settings=None)
        assert [type(e) for e in await commit(broker, ("t", 1, 4), group="s")] == [WrongSubscriptionKind]
        (found,) = await broker.offsets.fetch("s", [("t", 1)], raise_fence=1)
        assert isinstance(found.error, WrongSubscriptionKind)
        assert await broker.subscriptions.list("t") == [("s", "shared")]
        await broker.records.produce("t", records("a", partition=1))
        assert list((await receive_values(broker, "t", "s")).values()) == ["a"]


async def test_messages_cannot_be_received_or_moved_over_rest_as_a_group(broker):
    await broker.records.produce("t", records("a", partition=0))
    await commit(broker, ("t", 0, 1))
    for refused in (
        broker.subscriptions.receive("t", "g"),
        broker.subscriptions.seek("t", "g", to="earliest"),
        broker.subscriptions.nack("t", "g", "c1", None),
    ):
        with pytest.raises(WrongSubscriptionKind, match="Kafka"):
            await refused
    assert await offsets(broker) == {("t", 0): 1}


# -- transactions ------------------------------------------------------------------------------------------------------


async def test_pending_commit_leaves_the_previous_offset_visible(broker):
    await commit(broker, ("t", 0, 1))
    txn = await in_transaction(broker, ("t", 0, 6))
    (found,) = await broker.offsets.fetch("g", [("t", 0)], settle=True)
    assert (found.offset, found.pending) == (1, (txn,))
    await broker.transactions.commit(txn)
    (found,) = await broker.offsets.fetch("g", [("t", 0)], settle=True)
    assert (found.offset, found.pending) == (6, ())


async def test_transaction_commits_nothing_on_a_topic_recreated_since_its_registration(broker):
    # Given a partition that is registered with a transaction, of a topic that is another one by now
    txn = (await broker.transactions.begin()).id
    places = await broker.offsets.locate([("t", 0)])
    await broker.topics.delete("t")
    await broker.topics.create("t")
    # When an offset is committed there, then it is refused: no transaction end would ever settle it
    outcomes = await commit(broker, ("t", 0, 5), transaction=txn, places=places)
    assert [type(outcome) for outcome in outcomes] == [UnknownTopic]
    (found,) = await broker.offsets.fetch("g", [("t", 0)])
    assert found.pending == ()


@pytest.mark.parametrize("decided", [True, False])
async def test_a_decided_transaction_is_completed_by_a_read_of_the_offsets(redis_url, prefix, decided):
    # Given a broker that dies between the decision and the ends, and no sweep
    async with one(redis_url, prefix, end_overdue_ms=60_000) as broker:
        await broker.topics.create("t", partitions=2)
        await commit(broker, ("t", 0, 1), ("t", 1, 1))
        txn = await in_transaction(broker, ("t", 0, 6), ("t", 1, 7))
        await broker.coordinators.decide(txn, commit=decided)
        assert await offsets(broker) == {("t", 0): 1, ("t", 1): 1}
        # When a member asks for what is stable
        found = await broker.offsets.fetch("g", [("t", 0), ("t", 1)], settle=True)
        # Then it gets the outcome
        assert [(each.offset, each.pending) for each in found] == [(6 if decided else 1, ()), (7 if decided else 1, ())]


async def test_every_decided_transaction_is_carried_whichever_partition_it_is_pending_on(redis_url, prefix):
    async with one(redis_url, prefix, end_overdue_ms=60_000) as broker:
        await broker.topics.create("t", partitions=3)
        places = [("t", number) for number in range(3)]
        for topic, number in places:
            txn = await in_transaction(broker, (topic, number, number + 5))
            await broker.coordinators.decide(txn, commit=True)
        found = await broker.offsets.fetch("g", places, settle=True)
        assert [(each.offset, each.pending) for each in found] == [(5, ()), (6, ()), (7, ())]


async def test_an_overdue_transaction_is_ended_by_a_read_of_the_offsets(redis_url, prefix):
    async with one(redis_url, prefix, sweep_interval_ms=60_000, default_timeout_ms=50) as broker:
        await broker.topics.create("t", partitions=1)
        txn = await in_transaction(broker, ("t", 0, 6))

        async def pending():
            (found,) = await broker.offsets.fetch("g", [("t", 0)], settle=True)
            return found.pending

        assert await eventually(pending, ()) == ()
        assert (await broker.transactions.get(txn)).timed_out


# -- delete ------------------------------------------------------------------------------------------------------------


async def test_repeated_partition_is_deleted_once_and_answered_each_time(broker, monkeypatch):
    await commit(broker, ("t", 0, 5), ("t", 1, 6), ("t", 2, 7))
    forget, forgotten = broker.offsets._forget, list[int]()

    async def counted(place, group, what, when, *generation):
        if when == "always":
            forgotten.append(place.number)
        return await forget(place, group, what, when, *generation)

    monkeypatch.setattr(broker.offsets, "_forget", counted)
    outcomes = await broker.offsets.delete("g", [("t", 0), ("t", 9), ("t", 1)] * 500)
    assert [type(each) for each in outcomes] == [type(None), UnknownPartition, type(None)] * 500
    assert sorted(forgotten) == [0, 1]
    assert await offsets(broker) == {("t", 2): 7}
