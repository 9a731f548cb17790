"""OffsetCommit, OffsetFetch, OffsetDelete and TxnOffsetCommit over a real socket: versions, members, transactions."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.errors import StoreTimeout, TooFewReplicas
from redis_ledger.kafka.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from redis_ledger.kafka.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from tests.support.broker import one, records, two
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_offsets import Producer, commit, delete, fetch, join, sync

UNKNOWN_TOPIC, TOO_LARGE, ILLEGAL_GENERATION, INCONSISTENT, INVALID_GROUP = 3, 12, 22, 23, 24
UNKNOWN_MEMBER, REBALANCING, NOT_COORDINATOR, FENCED_EPOCH = 25, 27, 16, 47
INVALID_REQUEST, TXN_STATE, GROUP_NOT_FOUND, SUBSCRIBED, UNSTABLE, UNKNOWN_ID, ABORTABLE = 42, 48, 69, 86, 88, 100, 120


class Client(KafkaClient):
    broker: Broker
    address: tuple[str, int]


@pytest.fixture
async def client(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address:
        await broker.topics.create("t", partitions=3)
        client = Client(address)
        client.broker, client.address = broker, address
        async with client:
            yield client


async def id_of(client, topic="t") -> bytes:
    return bytes.fromhex((await client.broker.catalog.get(topic)).id)


LONG = {"long": "g" * 20_000, "control characters": "\0\n\x7f {a}%:/\u202e"}


@pytest.mark.parametrize("name", LONG.values(), ids=LONG)
async def test_groups_and_transactional_ids_have_any_name_that_kafka_takes(client, name):
    member = await sync(client, await join(client, name), name)
    assert await commit(client, ("t", 0, 7), group=name, member=member) == [0]
    assert await fetch(client, None, group=name) == {("t", 0): (7, 0)}
    producer = await Producer(client, 3, name).begin()
    await producer.add_group(name)
    assert await producer.commit(("t", 0, 9), group=name, member=member) == [0]
    await producer.end()
    assert await fetch(client, None, group=name) == {("t", 0): (9, 0)}
    listed = await client.broker.producers.list_transactions()
    assert [each.transactional_id for each in listed] == [name]
    assert [each.name for each in await client.broker.groups.list()] == [name]


# -- commit and fetch --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 10))
async def test_an_offset_is_committed_in_every_version_by_name(client, version):
    epoch = (4,) if version >= 6 else (-1,)
    assert await commit(client, ("t", 0, 7, *epoch, "m"), ("t", 2, 9, *epoch, None), version=version) == [0, 0]
    wanted = [OffsetFetchRequestTopic("t", [0, 1, 2])]
    (topic,) = (await client.ask(OffsetFetchRequest("g", wanted), 7)).topics
    assert [(p.committed_offset, p.committed_leader_epoch, p.metadata) for p in topic.partitions] == [
        (7, *epoch, "m"), (-1, -1, ""), (9, *epoch, ""),
    ]  # fmt: skip


@pytest.mark.parametrize("version", range(1, 10))
async def test_offsets_are_fetched_in_every_version_by_name(client, version):
    await client.broker.topics.create("u")
    await commit(client, ("t", 0, 7), ("u", 0, 9))
    assert await fetch(client, {"u": [0], "t": [2, 0]}, version=version) == {
        ("u", 0): (9, 0), ("t", 2): (-1, 0), ("t", 0): (7, 0),
    }  # fmt: skip
    if version >= 2:
        assert await fetch(client, None, version=version) == {("t", 0): (7, 0), ("u", 0): (9, 0)}


async def test_topics_are_named_by_id_from_version_10_on(client):
    known, unknown = await id_of(client), bytes(15) + b"\x07"
    assert await commit(client, (known, 1, 5), (unknown, 0, 1), version=10) == [0, UNKNOWN_ID]
    expected = {(known, 1): (5, 0)}
    assert await fetch(client, None, version=10) == expected
    assert await fetch(client, {known: [1], unknown: [0]}, version=10) == {**expected, (unknown, 0): (-1, UNKNOWN_ID)}


async def test_many_groups_are_asked_for_at_once_and_each_has_its_own_answer(client):
    await commit(client, ("t", 0, 1), group="a")
    await commit(client, ("t", 0, 2), group="b")
    asked = [OffsetFetchRequestGroup(group, None, -1, None) for group in ("a", "", "b", "unknown")]
    answer = await client.ask(OffsetFetchRequest(groups=asked), 8)
    offsets = [
        (g.group_id, g.error_code, [p.committed_offset for topic in g.topics for p in topic.partitions])
        for g in answer.groups
    ]
    assert offsets == [("a", 0, [1]), ("", INVALID_GROUP, []), ("b", 0, [2]), ("unknown", 0, [])]


async def test_duplicate_partitions_of_a_fetch_are_refused(client):
    await commit(client, ("t", 0, 7))
    twice = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0, 1, 0]), OffsetFetchRequestTopic("t", [0, 2])])
    answer = await client.ask(twice, 7)
    offsets = [(p.partition_index, p.committed_offset, p.error_code) for t in answer.topics for p in t.partitions]
    assert offsets == [(0, 7, 0), (1, -1, 0), (0, -1, INVALID_REQUEST), (0, -1, INVALID_REQUEST), (2, -1, 0)]
    answer = await client.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)] * 2), 8)
    assert [(len(g.topics), g.error_code) for g in answer.groups] == [(1, 0), (0, INVALID_REQUEST)]


async def test_refused_group_gets_an_error_and_so_do_its_partitions(client):
    asked = OffsetFetchRequest("", [OffsetFetchRequestTopic("t", [0, 1])])
    for version in range(1, 8):
        answer = await client.ask(asked, version)
        assert [p.error_code for topic in answer.topics for p in topic.partitions] == [INVALID_GROUP] * 2
        assert answer.error_code == (INVALID_GROUP if version > 1 else 0)
    assert await commit(client, ("t", 0, 1), ("t", 1, 1), group="") == [INVALID_GROUP] * 2


async def test_aiokafka_does_not_start_again_while_committed_offsets_cannot_be_read(client, monkeypatch):
    await client.broker.records.produce("t", records("a", "b", "c", partition=0))
    await commit(client, ("t", 0, 2))
    real, refusals = client.broker.offsets.fetch, iter([TooFewReplicas(), StoreTimeout()])

    async def refused_twice(*args, **how):
        if (refusal := next(refusals, None)) is not None:
            raise refusal
        return await real(*args, **how)

    monkeypatch.setattr(client.broker.offsets, "fetch", refused_twice)
    host, port = client.address
    consumer = AIOKafkaConsumer(
        bootstrap_servers=f"{host}:{port}", group_id="g", auto_offset_reset="earliest", retry_backoff_ms=10
    )
    consumer.assign([TopicPartition("t", 0)])
    await consumer.start()
    try:
        async with asyncio.timeout(20):
            assert (await consumer.getone()).offset == 2
    finally:
        await consumer.stop()
    assert next(refusals, None) is None


async def test_each_partition_has_its_own_outcome(client):
    long = "x" * 4097
    assert await commit(client, ("t", 0, 1), ("t", 3, 1), ("nope", 0, 1), ("t", 1, 1, -1, long), ("a b", 0, 1)) == [
        0, UNKNOWN_TOPIC, UNKNOWN_TOPIC, TOO_LARGE, UNKNOWN_TOPIC,
    ]  # fmt: skip
    assert await commit(client, ("t", 1, 1, -1, long[:-1]), ("t", 2, 1, -1, "ü" * 2049)) == [0, TOO_LARGE]
    # An absent offset is reported as not committed, so that auto.offset.reset applies
    assert await fetch(client, {"nope": [0], "t": [0, 9]}) == {
        ("nope", 0): (-1, 0),
        ("t", 0): (1, 0),
        ("t", 9): (-1, 0),
    }


async def test_of_a_partition_named_several_times_the_last_offset_counts(client):
    offsets = [("t", 0, 5), ("t", 1, 3), ("t", 0, 9), ("t", 0, 7)]
    assert await commit(client, *offsets) == [0] * 4
    assert await fetch(client, None) == {("t", 0): (7, 0), ("t", 1): (3, 0)}
    topic = await id_of(client)
    assert await commit(client, (topic, 0, 8), (topic, 0, 2), version=10) == [0, 0]
    producer = await Producer(client, 5).begin()
    assert await producer.commit(*((name, number, offset + 10) for name, number, offset in offsets)) == [0] * 4
    assert await fetch(client, None) == {("t", 0): (2, 0), ("t", 1): (3, 0)}
    await producer.end()
    assert await fetch(client, None, stable=True) == {("t", 0): (17, 0), ("t", 1): (13, 0)}


async def test_subscription_of_that_name_is_refused_before_anything_is_read(client):
    await client.broker.subscriptions.create("t", "s")
    assert await commit(client, ("t", 0, 1), group="s") == [INCONSISTENT]
    assert await fetch(client, {"t": [0]}, group="s") == {("t", 0): (-1, INCONSISTENT)}


# -- members -----------------------------------------------------------------------------------------------------------


async def test_only_members_commit_under_the_generation(client):
    member = await sync(client, await join(client))
    assert await commit(client, ("t", 0, 5), member=member) == [0]
    for other, code in (
        ((member[0], member[1] - 1), ILLEGAL_GENERATION),
        ((member[0], member[1] + 1), ILLEGAL_GENERATION),
        (("stranger", member[1]), UNKNOWN_MEMBER),
        (("", -1), UNKNOWN_MEMBER),
    ):
        assert await commit(client, ("t", 0, 9), member=other) == [code]
    assert await fetch(client, None) == {("t", 0): (5, 0)}


async def test_member_without_its_assignment_waits(client):
    member = await join(client)
    assert await commit(client, ("t", 0, 5), member=member) == [REBALANCING]
    await sync(client, member)
    assert await commit(client, ("t", 0, 5), member=member) == [0]


async def test_the_generation_of_an_empty_group_has_ended(client):
    assert await commit(client, ("t", 0, 5), member=("m", 3)) == [ILLEGAL_GENERATION]


async def test_commits_in_flight_from_an_earlier_coordinator_are_fenced_by_a_fetch(redis_url, prefix):
    async with two(redis_url, prefix) as (old, new), listening(old) as at_old, listening(new) as at_new:
        await old.topics.create("t")
        async with KafkaClient(at_old) as a, KafkaClient(at_new) as b:
            # Given a member that has the group at one broker
            first = await sync(a, await join(a))
            assert await commit(a, ("t", 0, 5), member=first) == [0]
            assert await commit(b, ("t", 0, 6), member=first) == [NOT_COORDINATOR]
            # When that broker gives the group up, a member joins at the other one and fetches from anybody
            await old.groups.close()
            second = await sync(b, await join(b))
            assert second[1] > first[1]
            assert await fetch(a, {"t": [0]}) == {("t", 0): (5, 0)}
            # Then what the first one had under way there is refused
            late = await old.offsets.commit("g", [OffsetEntry("t", 0, 9)], fence=first[1])
            assert [error and error.kafka_code for error in late] == [ILLEGAL_GENERATION]
            assert await commit(b, ("t", 0, 7), member=second) == [0]


# -- transactions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(7))
async def test_offsets_of_a_transaction_count_when_it_commits_in_every_version(client, version):
    """AK-32, CL-21"""
    topic = await id_of(client) if version >= 6 else "t"
    await commit(client, ("t", 0, 1))
    producer = await Producer(client, version).begin()
    await producer.add_group()
    assert await producer.commit((topic, 0, 5, -1, "m"), (topic, 1, 6)) == [0, 0]
    assert await fetch(client, {"t": [0, 1]}) == {("t", 0): (1, 0), ("t", 1): (-1, 0)}
    stable = await fetch(client, {"t": [0, 1, 2]}, stable=True)
    assert stable == {("t", 0): (-1, UNSTABLE), ("t", 1): (-1, UNSTABLE), ("t", 2): (-1, 0)}
    await producer.end()
    assert await fetch(client, None, stable=True) == {("t", 0): (5, 0), ("t", 1): (6, 0)}


@pytest.mark.parametrize("version", [4, 5])
async def test_offsets_of_a_transaction_that_aborts_are_dropped_and_the_next_one_begins_anew(client, version):
    """AK-32, CL-21"""
    await commit(client, ("t", 0, 1))
    producer = await Producer(client, version).begin()
    for commits, offset in ((False, 5), (True, 4), (False, 9)):
        await producer.add_group()
        assert await producer.commit(("t", 0, offset)) == [0]
        await producer.end(commits)
    assert await fetch(client, None, stable=True) == {("t", 0): (4, 0)}


@pytest.mark.parametrize(("version", "code"), [(3, TXN_STATE), (4, ABORTABLE)])
async def test_a_commit_outside_of_a_transaction_opens_none_in_the_older_protocol(client, version, code):
    producer = await Producer(client, version).begin()
    assert await producer.commit(("t", 0, 5)) == [code]
    assert await client.broker.transactions.list("open") == []
    assert await fetch(client, {"t": [0]}, stable=True) == {("t", 0): (-1, 0)}


async def test_a_producer_that_was_replaced_commits_nothing(client):
    old = await Producer(client, 5).begin()
    await old.commit(("t", 0, 3))
    await Producer(client, 5).begin()
    assert await old.commit(("t", 0, 5)) == [FENCED_EPOCH]
    assert await fetch(client, {"t": [0]}, stable=True) == {("t", 0): (-1, 0)}


async def test_a_transaction_commits_as_a_member_of_the_present_generation_only(client):
    first = await sync(client, await join(client))
    producer = await Producer(client, 5).begin()
    assert await producer.commit(("t", 0, 5), member=first) == [0]
    second = await sync(client, await join(client, member_id=first[0]))
    if second[1] == first[1]:  # a leader that comes again with what it had stays in its generation
        second = await sync(client, await join(client, member_id=first[0], wants=("t", "u")))
    assert await producer.commit(("t", 0, 6), member=first) == [ILLEGAL_GENERATION]
    assert await producer.commit(("t", 0, 7), member=second) == [0]
    assert await producer.commit(("t", 0, 8), member=("stranger", second[1])) == [UNKNOWN_MEMBER]
    await producer.end()
    assert await fetch(client, None) == {("t", 0): (7, 0)}


async def test_a_transaction_may_commit_while_its_group_has_no_assignment_yet(client):
    member = await join(client)
    producer = await Producer(client, 5).begin()
    assert await producer.commit(("t", 0, 5), member=member) == [0]


async def test_of_a_transactions_offsets_those_that_can_be_committed_are(client):
    producer = await Producer(client, 5).begin()
    offsets = [("t", 0, 5), ("nope", 0, 5), ("t", 9, 5), ("t", 1, 5, -1, "x" * 4097), ("t", 0, 6)]
    assert await producer.commit(*offsets) == [0, UNKNOWN_TOPIC, UNKNOWN_TOPIC, TOO_LARGE, 0]
    await producer.end()
    assert await fetch(client, None) == {("t", 0): (6, 0)}


async def test_a_member_that_wants_stable_offsets_does_not_wait_for_ends_that_a_dead_broker_owes(redis_url, prefix):
    async with one(redis_url, prefix, end_overdue_ms=60_000) as broker, listening(broker) as address:
        await broker.topics.create("t", partitions=1)
        async with KafkaClient(address) as client:
            producer = await Producer(client, 5).begin()
            await producer.commit(("t", 0, 5))
            # When the decision is logged but not applied
            (open_now,) = await broker.transactions.list("open")
            await broker.coordinators.decide(open_now.id, commit=True)
            # Then the next request that needs the outcome applies it
            assert await fetch(client, {"t": [0]}, stable=True) == {("t", 0): (5, 0)}


async def test_a_kafka_transaction_shows_its_pending_offsets_over_rest(client):
    await commit(client, ("t", 0, 1))
    producer = await Producer(client, 5).begin()
    await producer.commit(("t", 0, 2), ("t", 1, 2))
    stats = await client.broker.subscriptions.stats("t", "g")
    assert [(c.mark_delete, c.pending) for c in stats.cursors] == [(1, 1), (-1, 1), (-1, 0)]


# -- delete ------------------------------------------------------------------------------------------------------------


async def test_offsets_are_deleted_one_by_one(client):
    await commit(client, ("t", 0, 1), ("t", 2, 3))
    assert await delete(client, {"t": [0, 1, 9], "nope": [0]}) == {
        ("t", 0): 0, ("t", 1): 0, ("t", 9): UNKNOWN_TOPIC, ("nope", 0): UNKNOWN_TOPIC,
    }  # fmt: skip
    assert await fetch(client, None) == {("t", 2): (3, 0)}


async def test_a_group_that_never_was_has_no_offsets_to_delete(client):
    assert await delete(client, {"t": [0]}, group="unknown") == GROUP_NOT_FOUND


async def test_offsets_of_topics_that_members_want_stay(client):
    await client.broker.topics.create("u")
    await commit(client, ("t", 0, 1), ("u", 0, 1))
    await sync(client, await join(client, wants=("t",)))
    assert await delete(client, {"t": [0], "u": [0]}) == {("t", 0): SUBSCRIBED, ("u", 0): 0}
    assert await fetch(client, None) == {("t", 0): (1, 0)}


async def test_a_member_that_cannot_be_understood_wants_everything(client):
    await commit(client, ("t", 0, 1))
    await sync(client, await join(client, wants=None))
    assert await delete(client, {"t": [0]}) == {("t", 0): SUBSCRIBED}


async def test_of_a_group_whose_members_are_no_consumers_nothing_is_deleted(client):
    await commit(client, ("t", 0, 1))
    await sync(client, await join(client, protocol_type="connect"), protocol_type="connect")
    assert await delete(client, {"t": [0]}) == 68


@pytest.mark.parametrize("wish", [{"subscribed_topic_names": ["t"]}, {"subscribed_topic_regex": "t.*"}])
async def test_offsets_of_topics_that_members_of_the_new_protocol_want_stay(client, wish):
    await client.broker.topics.create("u")
    await commit(client, ("t", 0, 1), ("u", 0, 1))
    member = {"subscribed_topic_names": [], "topic_partitions": [], "rebalance_timeout_ms": 60_000, **wish}
    beaten = await client.ask(ConsumerGroupHeartbeatRequest("g", "m", **member), 1)
    assert beaten.error_code == 0
    assert await delete(client, {"t": [0], "u": [0]}) == {("t", 0): SUBSCRIBED, ("u", 0): 0}
