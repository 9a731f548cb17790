"""State of a classic group after its owner died and another broker took over."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.kafka.protocol.messages.delete_groups_request import DeleteGroupsRequest
from redis_ledger.kafka.protocol.messages.describe_groups_request import DescribeGroupsRequest
from tests.support.broker import eventually
from tests.support.kafka_groups import Member, moved_to, nodes, settled, state_of, stored_members, together
from tests.support.kafka_offsets import commit, fetch

ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING, FENCED_INSTANCE = 22, 25, 27, 82


@pytest.fixture
async def pair(redis_url, prefix):
    async with nodes(redis_url, redis_url, prefix=prefix) as both:
        await both[0].broker.topics.create("t")
        yield both


async def test_when_its_owner_dies_a_group_continues_elsewhere_with_all_its_members(pair):
    # Given a group of two at the first broker
    first, second = pair
    one, two = await together(first)
    assert await commit(one.client, ("t", 0, 7), member=(one.id, one.generation)) == [0]
    # When it dies
    await first.die()
    await moved_to(second)
    # Then its members go on at the other one, in the same generation and with what they were assigned
    for member, assigned in ((one, b"1"), (two, b"2")):
        member.client = await second.client()
        assert await member.beat() == 0
        assert (await member.sync()).assignment == assigned
    assert await commit(one.client, ("t", 0, 8), member=(one.id, one.generation)) == [0]
    assert await commit(one.client, ("t", 0, 9), member=(one.id, one.generation - 1)) == [ILLEGAL_GENERATION]
    assert await commit(one.client, ("t", 0, 9), member=("stranger", one.generation)) == [UNKNOWN_MEMBER]
    assert await fetch(one.client, {"t": [0]}) == {("t", 0): (8, 0)}
    (described,) = (await one.client.ask(DescribeGroupsRequest(["g"]), 6)).groups
    assert (described.group_state, described.protocol_data) == ("Stable", "range")
    assert sorted(member.member_id for member in described.members) == sorted([one.id, two.id])
    assert await state_of(second) == {
        "owner": second.broker.name, "kind": "classic", "generation": str(one.generation), "type": "consumer",
    }  # fmt: skip
    # And the next generation follows the last one
    following = one.generation + 1
    joins = [asyncio.create_task(member.join(b"changed")) for member in (one, two)]
    assert {(await join).generation_id for join in joins} == {following}


async def test_whatever_a_member_asks_first_makes_the_next_owner_take_the_group_over(pair):
    first, second = pair
    asked = {
        "join": lambda member: member.join(),
        "sync": lambda member: member.sync(),
        "leave": lambda member: member.leave(),
        "describe": lambda member: member.client.ask(DescribeGroupsRequest([member.group]), 6),
        "delete": lambda member: member.client.ask(DeleteGroupsRequest([member.group]), 2),
        "commit": lambda member: commit(member.client, ("t", 0, 1), member=(member.id, 1), group=member.group),
    }  # fmt: skip
    members = {what: await settled(first, group=what) for what in asked}
    await first.die()
    for what, ask in asked.items():
        members[what].client = await second.client()
        await moved_to(second, what)
        await ask(members[what])
        held = second.broker.groups.coordinator.held(what)
        assert held is not None, what
        assert (await members[what].beat() == 0) is (what != "leave"), what


async def test_a_rebalance_that_was_under_way_begins_again_without_losing_a_member(pair):
    # Given a group of two, of which one has joined again and waits, and the other does not know yet
    first, second = pair
    one, two = await together(first)
    generation = one.generation
    waiting = asyncio.create_task(one.join(b"changed"))
    while await two.beat() == 0:
        await asyncio.sleep(0.005)
    # When the broker dies
    await first.die()
    await moved_to(second)
    waiting.cancel()
    # Then the other member gets REBALANCE_IN_PROGRESS, and may commit until it does
    one.client, two.client = await second.client(), await second.client()
    assert await two.beat() == REBALANCING
    assert await commit(two.client, ("t", 0, 5), member=(two.id, generation)) == [0]
    joins = [asyncio.create_task(member.join(b"changed")) for member in (one, two)]
    answers = [await join for join in joins]
    assert {(answer.error_code, answer.generation_id) for answer in answers} == {(0, generation + 1)}
    assert {answer.member_id for answer in answers} == {one.id, two.id}


async def test_a_generation_whose_assignment_was_not_made_begins_again(pair):
    # Given a group that waits for its leader's assignment
    first, second = pair
    member = Member(await first.client())
    await member.join()
    # When the broker dies
    await first.die()
    await moved_to(second)
    # Then the leader joins again, under its id
    member.client, before = await second.client(), member.id
    assert (await member.sync({member.id: b"all"})).error_code == REBALANCING
    joined = await member.join()
    assert (joined.error_code, joined.member_id, joined.generation_id) == (0, before, 2)


async def test_a_member_that_died_with_its_broker_is_removed_when_its_session_is_over(pair):
    first, second = pair
    one, two = await together(first, session_ms=3_000)
    await first.die()
    await moved_to(second)
    one.client = await second.client()

    async def code():
        return await one.beat()

    assert await code() == 0, "both have a full session again"
    assert await eventually(code, REBALANCING, 10) == REBALANCING
    joined = await one.join()
    assert [member.member_id for member in joined.members] == [one.id]
    assert two.id not in await stored_members(second)


async def test_a_static_member_keeps_its_place_and_its_assignment(pair):
    first, second = pair
    member = await settled(first, instance="i")
    await first.die()
    await moved_to(second)
    # Given a client that was started again and does not know its member id
    again = Member(await second.client(), instance="i")
    joined = await again.join()
    assert (joined.error_code, joined.generation_id, joined.skip_assignment) == (0, 1, True)
    assert (await again.sync()).assignment == b"all"
    member.client = again.client
    assert await member.beat() == FENCED_INSTANCE


async def test_groups_without_a_member_that_comes_back_end_by_themselves(pair):
    first, second = pair
    await settled(first, session_ms=1_000)
    await first.die()
    await moved_to(second)
    await second.broker.groups.tidy()
    assert second.broker.groups.coordinator.held("g") is not None

    async def members():
        return await stored_members(second)

    assert await eventually(members, set(), 10) == set()
