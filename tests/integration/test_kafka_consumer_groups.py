"""Groups of the consumer protocol (KIP-848) over a real socket: sharing, takeover, and offsets."""

from __future__ import annotations

import asyncio
from typing import Any

from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.errors import StaleMember
from tests.support.broker import eventually, one, two, vanish
from tests.support.consumer_members import (
    FENCED_EPOCH,
    NOT_COORDINATOR,
    STALE_EPOCH,
    UNKNOWN_MEMBER,
    UNRELEASED,
    UNSUPPORTED_VERSION,
    Member,
    committed,
    read,
)
from tests.support.kafka_client import KafkaClient, listening

TAKEN_OVER_S_MAX = 10.0  # a broker counts as dead some seconds after its last sign of life


# -- sharing -----------------------------------------------------------------------------------------------------------


async def test_two_members_share_and_what_one_leaves_the_other_gets(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, KafkaClient(address) as client:
        await broker.topics.create("t", 4)
        a, b = Member(client, broker, "a"), Member(client, broker, "b")
        # Given a member with everything
        assert await a.join("t") == {"t": [0, 1, 2, 3]}
        # When a second one comes, it waits until the first has given up its share
        assert await b.join("t") == {}
        assert await b.beat() == {}
        assert await a.beat() == {"t": [0, 1]}
        assert a.epoch == 1
        assert await b.beat() == {}
        await a.beat()
        assert a.epoch == 2
        assert await b.beat() == {"t": [2, 3]}
        # and when it leaves, the first has everything again
        left = await b.send(-1)
        assert (left.error_code, left.member_epoch) == (0, -1)
        assert await a.beat() == {"t": [0, 1, 2, 3]}
        assert a.epoch == 3


async def test_any_number_of_members_that_come_together_end_up_with_one_partition_each(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address:
        await broker.topics.create("t", 12)
        members = [Member(await KafkaClient(address).__aenter__(), broker, f"m{n}") for n in range(12)]
        try:
            await asyncio.gather(*(member.join("t") for member in members))

            async def round_trip() -> list[int]:
                await asyncio.gather(*(member.beat() for member in members))
                assert read(*members).get("t", []) == sorted(set(read(*members).get("t", [])))  # nothing twice
                return [len(member.owned.get("t", [])) for member in members]

            assert await eventually(round_trip, [1] * 12) == [1] * 12
        finally:
            for member in members:
                await member.client.__aexit__()


async def test_a_lost_answer_is_repeated(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, KafkaClient(address) as client:
        await broker.topics.create("t", 1)
        await broker.topics.create("u", 1)
        a = Member(client, broker, "a")
        await a.join("t")
        # Given an answer with a new epoch that does not arrive
        lost = await a.send(subscribed_topic_names=["t", "u"])
        assert lost.member_epoch == 2
        # When the member says in its old epoch all there is to say
        again = await a.send(
            subscribed_topic_names=["t", "u"], rebalance_timeout_ms=60_000, topic_partitions=a.reported()
        )
        # Then the answer is the same
        assert again == lost
        assert a.take(again) == {"t": [0], "u": [0]}
        # and in an epoch of its own making it is fenced, until it begins anew
        assert (await a.send(9)).error_code == FENCED_EPOCH
        assert await a.join("t", "u") == {"t": [0], "u": [0]}


async def test_a_static_member_comes_back_to_what_it_had(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, KafkaClient(address) as client:
        await broker.topics.create("t", 2)
        a = Member(client, broker, "a", instance="i1")
        b = Member(client, broker, "b", instance="i2")
        await a.join("t")
        await b.join("t")
        await a.until({"t": [0]})
        await b.until({"t": [1]})
        # Given that one goes for a while
        assert (await a.send(-2)).member_epoch == -2
        assert await b.beat() == {"t": [1]}
        # When it is back under another id
        again = Member(client, broker, "c", instance="i1")
        assert await again.join("t") == {"t": [0]}
        # Then no partition has moved, and no other member can take its instance id
        assert again.epoch == b.epoch
        stranger = Member(client, broker, "d", instance="i1")
        refused = await stranger.send(0, rebalance_timeout_ms=1, topic_partitions=[], subscribed_topic_names=["t"])
        assert refused.error_code == UNRELEASED


async def test_a_silent_member_loses_its_partitions(redis_url, prefix):
    async with one(redis_url, prefix, group_session_ms=3_000) as broker, listening(broker) as address:
        async with KafkaClient(address) as client:
            await broker.topics.create("t", 2)
            a, b = Member(client, broker, "a"), Member(client, broker, "b")
            await a.join("t")
            await b.join("t")
            await a.until({"t": [0]})
            await a.until({"t": [0, 1]})
            assert (await b.send()).error_code == UNKNOWN_MEMBER


async def test_a_new_topic_that_matches_is_given_out_at_the_next_heartbeat(redis_url, prefix):
    async with two(redis_url, prefix) as (broker, other), listening(broker) as address, KafkaClient(address) as client:
        await broker.topics.create("orders-1", 1)
        await broker.topics.create("payments", 1)
        a = Member(client, broker, "a")
        assert await a.join(subscribed_topic_regex="orders-.*") == {"orders-1": [0]}
        # When topics are made, at whatever broker
        await other.topics.create("orders-2", 2)
        await other.topics.create("reorders-3", 2)
        # Then they are noticed in about a second
        await a.until({"orders-1": [0], "orders-2": [0, 1]}, within_s=3)
        # as are partitions that are added, and topics that go
        await other.topics.grow("orders-1", 3)
        await a.until({"orders-1": [0, 1, 2], "orders-2": [0, 1]}, within_s=3)
        await other.topics.delete("orders-2")
        await a.until({"orders-1": [0, 1, 2]}, within_s=3)


async def test_joining_member_gets_a_topic_created_just_before(redis_url, prefix):
    async with two(redis_url, prefix) as (broker, other), listening(broker) as address, KafkaClient(address) as client:
        await other.topics.create("t", 1)
        assert await Member(client, broker, "a").join("t") == {"t": [0]}


# -- brokers -----------------------------------------------------------------------------------------------------------


async def test_another_broker_takes_the_group_over_when_its_owner_dies(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second), listening(first) as there, listening(second) as here:
        await first.topics.create("t", 2)
        async with KafkaClient(there) as before, KafkaClient(here) as after:
            # Given a group with two members at one broker
            a, b = Member(before, first, "a"), Member(before, first, "b")
            await a.join("t")
            await b.join("t")
            await a.until({"t": [0]})
            await b.until({"t": [1]})
            assert (a.epoch, await a.commit(7)) == (2, 0)
            # While that lives, another sends them away
            stray = Member(after, second, "a")
            assert (await stray.send(2)).error_code == NOT_COORDINATOR
            joining: Any = {"rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_names": ["t"]}
            assert (await stray.send(0, **joining)).error_code == NOT_COORDINATOR
            # When it dies, the other goes on with both of them
            await vanish(first)
            a.client, b.client = after, after
            a.broker, b.broker = second, second

            async def error_code() -> int:
                return (await a.send(2)).error_code

            assert await eventually(error_code, 0, TAKEN_OVER_S_MAX) == 0
            # and takes what they have read meanwhile
            assert await a.commit(8, epoch=2) == 0
            assert await a.commit(8, epoch=9) == STALE_EPOCH
            await a.until({"t": [0]})
            await b.until({"t": [1]})
            assert a.epoch == b.epoch == 3
            assert await a.fetch() == (0, [8])
            # Then another member gets a share, and what the dead broker's members send late is refused
            late = Member(after, second, "c")
            await late.join("t")
            (refused,) = await second.offsets.commit("g", [OffsetEntry("t", 0, 8)], fence=2)
            assert isinstance(refused, StaleMember)
            assert await a.commit(9) == 0


async def test_member_continues_revoking_partitions_at_the_next_broker(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second), listening(first) as there, listening(second) as here:
        await first.topics.create("t", 2)
        async with KafkaClient(there) as before, KafkaClient(here) as after:
            # Given a member that has to revoke a partition and still reads it
            a, b = Member(before, first, "a"), Member(before, first, "b")
            await a.join("t")
            await b.join("t")
            reading = a.owned
            assert await a.beat() == {"t": [0]}
            assert (reading, b.owned) == ({"t": [0, 1]}, {})
            # When the broker dies
            await vanish(first)
            a.client, b.client, a.broker, b.broker = after, after, second, second

            async def error_code() -> int:
                return (await b.send(b.epoch)).error_code

            assert await eventually(error_code, 0, TAKEN_OVER_S_MAX) == 0
            # Then the other member gets it when the first one has given it up, and not before
            assert await b.beat() == {}
            assert await a.beat() == {"t": [0]}
            await b.until({"t": [1]})
            assert read(a, b) == {"t": [0, 1]}


async def test_a_broker_that_stops_hands_its_members_to_the_next_one(redis_url, prefix):
    async with one(redis_url, prefix) as second, listening(second) as here, KafkaClient(here) as after:
        async with one(redis_url, prefix) as first, listening(first) as there, KafkaClient(there) as before:
            await first.topics.create("t", 1)
            a = Member(before, first, "a")
            await a.join("t")
        a.client, a.broker = after, second
        assert await a.commit(1) == 0
        assert await a.beat() == {"t": [0]}
        assert a.epoch == 2


# -- offsets -----------------------------------------------------------------------------------------------------------


async def test_only_members_commit_and_fetch_and_in_their_epoch(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, KafkaClient(address) as client:
        await broker.topics.create("t", 1)
        a = Member(client, broker, "a")
        # Given an empty group: anybody may commit
        assert await committed(client, "g", "", -1, "t", 1, 9) == 0
        # When it has a member, only that may
        await a.join("t")
        assert await committed(client, "g", "", -1, "t", 2, 9) == UNKNOWN_MEMBER
        assert await committed(client, "g", "x", 1, "t", 2, 9) == UNKNOWN_MEMBER
        assert await committed(client, "g", "x", 1, "t", 2, 8) == UNKNOWN_MEMBER
        assert await a.commit(5) == 0
        # and only in its epoch, in a version that knows epochs
        assert await a.commit(6, epoch=2) == STALE_EPOCH
        assert await a.commit(6, epoch=0) == STALE_EPOCH
        assert await a.commit(6, epoch=2, version=8) == UNSUPPORTED_VERSION
        assert await a.fetch() == (0, [5])
        assert await a.fetch(epoch=2) == (STALE_EPOCH, [])
        a.name = "x"
        assert await a.fetch() == (UNKNOWN_MEMBER, [])


async def test_a_commit_on_its_way_while_the_epoch_changes_counts_unless_another_has_the_partition(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, KafkaClient(address) as client:
        await broker.topics.create("t", 1)
        await broker.topics.create("u", 1)
        # Given a member that reads both topics, and then gives one up to another
        a, b = Member(client, broker, "a"), Member(client, broker, "b")
        await a.join("t", "u")
        await a.fetch("t")
        await a.fetch("u")
        await b.join("t", "u")
        (kept,) = await a.beat()
        given = "u" if kept == "t" else "t"
        await a.beat()
        assert (a.epoch, await b.beat()) == (2, {given: [0]})
        # When commits arrive that it sent in its old epoch
        assert await a.commit(5, kept, epoch=1) == 0
        assert await a.commit(5, given, epoch=1) == 0  # no heartbeat since
        assert await b.fetch(given) == (0, [5])
        # Then what the other has fetched is not changed behind its back
        assert await a.commit(6, given, epoch=1) == STALE_EPOCH
        assert await b.fetch(given) == (0, [5])
