"""The connections of members close while their JoinGroup or SyncGroup waits, as when their process is killed."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.broker import eventually
from tests.support.busy_machine import within
from tests.support.kafka_groups import Member, settled, together

REBALANCING = 27
SESSION_MS = 2_000
PATIENCE_S = 20.0  # far below the rebalance timeout of 30 s


def group_of(node):
    return node.broker.groups.coordinator.held("g")


async def members_are(node, count):
    async def size():
        return len(group_of(node).describe().members)

    assert await eventually(size, count, PATIENCE_S) == count


async def no_join_waits(node):
    async with within(PATIENCE_S):
        while group_of(node)._roster.joins:
            await asyncio.sleep(0.005)


async def joined(node, first, second):
    """The second member joins the group of the first."""
    joining = asyncio.create_task(second.join())
    while await first.beat() == 0:
        await asyncio.sleep(0.005)
    await asyncio.gather(first.join(), joining)


def kill(member):
    member.client._writer.transport.abort()


def close(member):
    member.client._writer.close()


@pytest.mark.parametrize("cut", [kill, close])
async def test_a_restarted_application_has_a_generation_after_one_session(node, cut):
    # Given two members that have not joined again, and twice two new ones that are killed while they wait for the first
    first = await together(node, session_ms=SESSION_MS)
    for _ in range(2):
        new = [Member(await node.client()) for _ in range(2)]
        waiting = [asyncio.create_task(member.join()) for member in new]
        await members_are(node, 4)
        await asyncio.gather(*(member.beat() for member in first))
        for member in new:
            cut(member)
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(each, OSError | EOFError) for each in ended)
        await members_are(node, 2)
        await asyncio.gather(*(member.beat() for member in first))
    for member in first:
        cut(member)
    # When two are started that stay
    stay = [Member(await node.client()) for _ in range(2)]
    async with within(PATIENCE_S):
        answers = await asyncio.gather(*(member.join() for member in stay))
    # Then the next generation has these two, and one of them leads
    assert [answer.generation_id for answer in answers] == [2, 2]
    (lead,) = [member for member in stay if member.id == answers[0].leader]
    (led,) = [answer for answer in answers if answer.members]
    assert {each.member_id for each in led.members} == {member.id for member in stay}
    assigned = {member.id: b"part" for member in stay}
    synced = await asyncio.gather(*(member.sync(assigned if member is lead else None) for member in stay))
    assert [each.assignment for each in synced] == [b"part", b"part"]


async def test_a_member_that_was_killed_while_it_waited_to_rejoin_is_not_in_the_next_generation(node):
    # Given two members, of which the leader joins again and is killed while it waits
    one, two = await settled(node, session_ms=SESSION_MS), Member(await node.client())
    await joined(node, one, two)
    await asyncio.gather(one.sync({one.id: b"1", two.id: b"2"}), two.sync())
    waiting = asyncio.create_task(one.join())
    while await two.beat() == 0:
        await asyncio.sleep(0.005)
    kill(one)
    await asyncio.gather(waiting, return_exceptions=True)
    await no_join_waits(node)
    # When the other joins again
    async with within(PATIENCE_S):
        answer = await two.join()
    # Then it is alone when the session of the first has ended
    assert (answer.generation_id, answer.leader) == (3, two.id)
    assert [each.member_id for each in answer.members] == [two.id]


async def test_a_member_that_lost_its_connection_comes_back_with_its_id(node):
    one, two = await together(node)
    waiting = asyncio.create_task(one.join())
    while await two.beat() == 0:
        await asyncio.sleep(0.005)
    close(one)
    await asyncio.gather(waiting, return_exceptions=True)
    await no_join_waits(node)
    one.client, before = await node.client(), one.id
    answers = await asyncio.gather(one.join(), two.join())
    assert [answer.generation_id for answer in answers] == [2, 2]
    assert one.id == before


async def test_a_follower_that_was_killed_while_it_waited_for_its_assignment_is_out_after_its_session(node):
    # Given a leader that takes its time, and a follower that is killed
    one = await settled(node)
    two = Member(await node.client(), session_ms=SESSION_MS)
    await joined(node, one, two)
    waiting = asyncio.create_task(two.sync())
    async with within(PATIENCE_S):
        while not group_of(node)._roster.syncs:
            await asyncio.sleep(0.005)
    kill(two)
    await asyncio.gather(waiting, return_exceptions=True)
    # Then the leader learns it after that session
    async with within(PATIENCE_S):
        while (code := await one.beat()) == 0:
            await asyncio.sleep(0.01)
    assert code == REBALANCING
    assert [each.member_id for each in (await one.join()).members] == [one.id]
