"""Coordinators of classic groups when brokers join, leave, stall or lose Redis."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.errors import IllegalGeneration
from redis_ledger.kafka.protocol.messages.delete_groups_request import DeleteGroupsRequest
from redis_ledger.kafka.protocol.messages.describe_groups_request import DescribeGroupsRequest
from redis_ledger.kafka.protocol.messages.list_groups_request import ListGroupsRequest
from redis_ledger.store.keys import GroupKeys
from tests.support.broker import eventually
from tests.support.busy_machine import wait_for
from tests.support.kafka_groups import (
    TAKEN_OVER_S_MAX,
    Member,
    coordinator_of,
    moved_to,
    nodes,
    settled,
    state_of,
    stored_members,
)
from tests.support.kafka_offsets import commit, fetch
from tests.support.proxy import proxy

COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, ILLEGAL_GENERATION, UNKNOWN_MEMBER = 15, 16, 22, 25
REBALANCING = 27


@pytest.fixture
async def pair(redis_url, prefix):
    async with nodes(redis_url, redis_url, prefix=prefix) as both:
        await both[0].broker.topics.create("t")
        yield both


@pytest.fixture
async def relayed(redis, prefix):
    """Two brokers; the first one's way to Redis can be cut."""
    async with (
        proxy("127.0.0.1", redis.port) as relay,
        nodes(relay.url, redis.url, prefix=prefix, redis_retry_ms=300, redis_timeout_ms=60_000) as both,
    ):
        await both[0].broker.topics.create("t")
        yield relay, *both


# -- who is asked ------------------------------------------------------------------------------------------------------


async def test_every_broker_returns_the_coordinator_that_the_first_member_reached(pair):
    for group, node in (("g1", pair[0]), ("g2", pair[1])):
        await settled(node, group=group)
        for asked in pair:
            assert await coordinator_of(await asked.client(), group) == (0, *node.address)


async def test_the_other_broker_redirects_all_members(pair):
    member = await settled(pair[0])
    # Given its client at the other broker
    member.client = await pair[1].client()
    assert (await member.join()).error_code == NOT_COORDINATOR
    assert (await member.sync()).error_code == NOT_COORDINATOR
    assert await member.beat() == NOT_COORDINATOR
    assert (await member.leave()).error_code == NOT_COORDINATOR
    assert (await Member(member.client).join()).error_code == NOT_COORDINATOR
    assert await commit(member.client, ("t", 0, 1), member=(member.id, 1)) == [NOT_COORDINATOR]
    assert await commit(member.client, ("t", 0, 1)) == [NOT_COORDINATOR]
    (described,) = (await member.client.ask(DescribeGroupsRequest(["g"]), 6)).groups
    assert described.error_code == NOT_COORDINATOR
    (deleted,) = (await member.client.ask(DeleteGroupsRequest(["g"]), 2)).results
    assert deleted.error_code == NOT_COORDINATOR


async def test_each_group_is_listed_by_one_broker(pair):
    await settled(pair[0], group="of the first")
    await settled(pair[1], group="of the second")
    simple = {f"simple {number}" for number in range(20)}
    for group in simple:
        await pair[0].broker.offsets.commit(group, [OffsetEntry("t", 0, 5)], fence=-1)
    listed = []
    for node in pair:
        answer = await (await node.client()).ask(ListGroupsRequest(), 5)
        listed.append([group.group_id for group in answer.groups])
    assert "of the first" in listed[0]
    assert "of the second" in listed[1]
    assert sorted(listed[0] + listed[1]) == sorted({"of the first", "of the second"} | simple)
    assert all(set(names) & simple for names in listed), "one broker was given them all"


async def test_an_empty_group_may_be_committed_to_anywhere_but_not_with_a_generation(pair):
    for node, offset in ((pair[0], 1), (pair[1], 2)):
        client = await node.client()
        assert await commit(client, ("t", 0, offset)) == [0]
        assert await commit(client, ("t", 0, 9), member=("unknown", 3)) == [ILLEGAL_GENERATION]
        assert await fetch(client, {"t": [0]}) == {("t", 0): (offset, 0)}


# -- a successor -------------------------------------------------------------------------------------------------------


async def test_silent_broker_gives_up_its_groups_and_members_continue_elsewhere(relayed):
    # Given a group at a broker that cannot reach Redis any more, and does not know that it takes long
    relay, silent, other = relayed
    member = await settled(silent)
    left_behind = member.client
    relay.hold()
    # When its member goes on at another one, and the group begins another generation there
    await moved_to(other)
    member.client = await other.client()
    assert await member.beat() == 0
    assert (await member.join(b"changed")).generation_id == 2
    await member.sync({member.id: b"all"})
    assert await fetch(member.client, {"t": [0]}) == {("t", 0): (-1, 0)}
    assert await commit(member.client, ("t", 0, 50), member=(member.id, 2)) == [0]
    # Then a commit by way of the silent broker is refused where the offset is, whatever the broker believes
    late = asyncio.create_task(silent.broker.offsets.commit("g", [OffsetEntry("t", 0, 3)], fence=1))
    request = asyncio.create_task(commit(await silent.client(), ("t", 0, 3), member=(member.id, 1)))
    await asyncio.sleep(0.05)
    relay.release()
    (refused,) = await late
    assert isinstance(refused, IllegalGeneration)
    # And a request that waited there ends without a response
    with pytest.raises(asyncio.IncompleteReadError):
        await request
    # And that broker sends clients away within two seconds, and has changed nothing of what is stored
    member.client = left_behind
    assert await eventually(member.beat, NOT_COORDINATOR, 5.0) == NOT_COORDINATOR
    assert (await state_of(other))["owner"] == other.broker.name
    assert await stored_members(other) == {member.id}
    assert await fetch(left_behind, {"t": [0]}) == {("t", 0): (50, 0)}


async def test_broker_notices_a_lost_group_when_it_advances_the_generation(pair):
    # Given a group that another broker has taken over just now
    first, second = pair
    member = await settled(first)
    key = GroupKeys(first.broker.store.prefix, "g").state
    await first.broker.store.command("HSET", key, "owner", second.broker.name, "generation", 5, key=key)
    # When the first broker's member joins again, it gets NOT_COORDINATOR instead of a generation
    assert (await member.join()).error_code == NOT_COORDINATOR
    assert first.broker.groups.coordinator.groups == []
    assert (await state_of(second))["generation"] == "5"
    (refused,) = await first.broker.offsets.commit("g", [OffsetEntry("t", 0, 1)], fence=1)
    assert refused is None  # no later generation has read there yet
    await fetch(await second.client(), {"t": [0]})
    (refused,) = await first.broker.offsets.commit("g", [OffsetEntry("t", 0, 1)], fence=1)
    assert isinstance(refused, IllegalGeneration)


async def test_a_broker_that_shuts_down_sends_its_members_on_at_once(pair):
    # Given a member that waits for another
    first, second = pair
    one, two = await settled(first, group="g"), Member(await first.client())
    waiting = asyncio.create_task(two.join())
    while await one.beat() == 0:
        await asyncio.sleep(0.005)
    # When the broker gives its groups up
    await first.broker.groups.close()
    # Then the member knows at once, and the group can go on elsewhere at once
    assert (await wait_for(waiting, 1)).error_code == NOT_COORDINATOR
    assert await one.beat() == NOT_COORDINATOR
    assert (await Member(one.client).join()).error_code == NOT_COORDINATOR
    assert "owner" not in await state_of(second)
    # And the member goes on there as if nothing had happened
    one.client = await second.client()
    assert await commit(one.client, ("t", 0, 3), member=(one.id, 1)) == [0]
    assert await one.beat() == REBALANCING
    joined = await one.join()
    assert (joined.error_code, joined.member_id, joined.generation_id) == (0, one.id, 2)


async def test_of_brokers_that_find_the_owner_dead_one_succeeds(pair):
    first, second = pair
    key = GroupKeys(first.broker.store.prefix, "g").state
    await first.broker.store.command("HSET", key, "owner", "b9", "kind", "classic", "generation", 7, key=key)
    members = [Member(await node.client()) for node in pair for _ in range(3)]
    answers = await asyncio.gather(*(member.join() for member in members))
    owner = (await state_of(first))["owner"]
    won = [answer for answer in answers if answer.error_code == 0]
    assert owner in (first.broker.name, second.broker.name)
    assert {answer.error_code for answer in answers} == {0, NOT_COORDINATOR}
    assert {answer.generation_id for answer in won} == {8}


@pytest.mark.parametrize("notices", ["by itself", "when it rebalances"])
async def test_a_claim_that_redis_has_lost_costs_the_members_nothing(pair, notices):
    # Given a group whose key is lost, as in a failover to a replica that had not seen it
    node, _ = pair
    member = await settled(node)
    key = GroupKeys(node.broker.store.prefix, "g").state
    await node.broker.store.command("DEL", key, key=key)
    # When the broker notices
    if notices == "by itself":
        await node.broker.groups.coordinator.check_ownership()
        assert await member.beat() == 0
    # Then it goes on with the generation that its members have
    assert (await member.join(b"changed")).generation_id == 2
    assert await state_of(node) == {"owner": node.broker.name, "kind": "classic", "generation": "2", "type": "consumer"}


# -- without Redis -----------------------------------------------------------------------------------------------------


async def test_members_wait_for_a_generation_while_redis_is_away(relayed):
    relay, node, _ = relayed
    one, two = await settled(node), Member(await node.client())
    # Given that Redis goes away while a group rebalances
    answers = [asyncio.create_task(two.join())]
    while await one.beat() == 0:
        await asyncio.sleep(0.005)
    await relay.refuse()
    answers.append(asyncio.create_task(one.join()))
    # Then they wait, for longer than one call to Redis may take
    done, _ = await asyncio.wait(answers, timeout=0.8)
    assert not done
    assert node.broker.groups.coordinator.held("g").generation == 1
    # Until it is back
    await relay.accept_again()
    assert {(await answer).generation_id for answer in answers} == {2}
    assert (await state_of(node))["generation"] == "2"


async def test_a_group_that_is_not_known_yet_cannot_begin_without_redis(relayed):
    relay, node, _ = relayed
    client = await node.client()
    await relay.refuse()
    member = Member(client)
    assert (await member.join()).error_code == COORDINATOR_NOT_AVAILABLE
    assert await member.beat() == COORDINATOR_NOT_AVAILABLE
    assert (await coordinator_of(client))[0] == COORDINATOR_NOT_AVAILABLE
    await relay.accept_again()

    async def outcome():
        return (await member.join()).error_code

    assert await eventually(outcome, 0, TAKEN_OVER_S_MAX) == 0
