"""Classic consumer groups over a real socket: every version, replies to clients, and administration."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.errors import NotCoordinator
from redis_ledger.groups import coordinator
from redis_ledger.kafka.protocol.messages.delete_groups_request import DeleteGroupsRequest
from redis_ledger.kafka.protocol.messages.describe_groups_request import DescribeGroupsRequest
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.messages.join_group_request import JoinGroupRequestProtocol
from redis_ledger.kafka.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from redis_ledger.kafka.protocol.messages.list_groups_request import ListGroupsRequest
from redis_ledger.store.keys import GroupKeys
from tests.support.broker import one
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_groups import QUICK, Member, nodes

COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, INCONSISTENT, INVALID_GROUP, UNKNOWN_MEMBER = 15, 16, 23, 24, 25
INVALID_SESSION, REBALANCING, INVALID_REQUEST, NOT_EMPTY, NOT_FOUND, FULL = 26, 27, 42, 68, 69, 81


@pytest.fixture
async def client(node):
    return await node.client()


async def stable(*members):
    """All join and are assigned their own ids; the first leads."""
    answers = await asyncio.gather(*(member.join() for member in members))
    leader = next(m for m, answer in zip(members, answers, strict=True) if answer.leader == m.id)
    assignments = {member.id: member.id.encode() for member in members}
    return await asyncio.gather(*(m.sync(assignments if m is leader else None) for m in members))


# -- members -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["redis_url", "cluster_url"])
@pytest.mark.parametrize("version", range(10))
async def test_a_member_comes_stays_and_goes_in_every_version(request, prefix, version, url):
    async with nodes(request.getfixturevalue(url), prefix=prefix) as (node,):
        member = Member(await node.client(), version=version)
        joined = await member.join(b"my topics")
        assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
        assert joined.leader == joined.member_id == member.id
        assert [(m.member_id, m.metadata) for m in joined.members] == [(member.id, b"my topics")]
        assert joined.protocol_type == ("consumer" if version >= 7 else None)
        synced = await member.sync({member.id: b"all of it"})
        assert (synced.error_code, synced.assignment) == (0, b"all of it")
        assert await member.beat() == 0
        left = await member.leave()
        assert left.error_code == 0
        assert [one.error_code for one in left.members] == ([0] if version >= 3 else [])
        assert await member.beat() == UNKNOWN_MEMBER


async def test_a_newcomer_makes_the_others_join_again_and_both_get_their_part(node):
    # Given a group of one
    first, second = Member(await node.client()), Member(await node.client())
    await stable(first)
    # When another comes, it waits until the first has heard of it
    joining = asyncio.create_task(second.join())
    while await first.beat() == 0:
        await asyncio.sleep(0.005)
    assert not joining.done()
    again = await first.join()
    assert (await joining).generation_id == again.generation_id == 2
    # Then the leader assigns, and the other waits for it
    waiting = asyncio.create_task(second.sync())
    led = await first.sync({first.id: b"1", second.id: b"2"})
    assert (led.assignment, (await waiting).assignment) == (b"1", b"2")


async def test_a_member_that_is_silent_for_its_session_is_out(node):
    first, second = Member(await node.client()), Member(await node.client(), session_ms=1_000)
    await stable(first, second)
    while (code := await first.beat()) == 0:
        await asyncio.sleep(0.01)
    assert code == REBALANCING
    assert (await first.join()).generation_id == 2


async def test_a_static_member_comes_back_to_its_place(node):
    first, second = Member(await node.client(), instance="i1"), Member(await node.client(), instance="i2")
    await stable(first, second)
    before, second.id = second.id, ""
    back = await second.join()
    assert (back.error_code, back.generation_id) == (0, 1)
    assert (await second.sync()).assignment == before.encode()
    assert await first.beat() == 0
    # An administrator removes it by its instance id; another instance id has no effect
    request = LeaveGroupRequest("g", members=[MemberIdentity("", "i2"), MemberIdentity("", "i3")])
    answer = await first.client.ask(request, 5)
    assert [(one.group_instance_id, one.error_code) for one in answer.members] == [("i2", 0), ("i3", UNKNOWN_MEMBER)]
    assert await first.beat() == REBALANCING


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"group_id": ""}, INVALID_GROUP),
        ({"session_timeout_ms": 49}, INVALID_SESSION),
        ({"session_timeout_ms": 1_800_001}, INVALID_SESSION),
        ({"member_id": "unknown"}, UNKNOWN_MEMBER),
        ({"group_id": "another", "member_id": "unknown"}, UNKNOWN_MEMBER),
        ({"protocol_type": "connect"}, INCONSISTENT),
        ({"protocols": []}, INCONSISTENT),
        ({"protocols": [JoinGroupRequestProtocol("sticky", b"")]}, INCONSISTENT),
        ({"group_instance_id": "i" * 250}, INVALID_REQUEST),
    ],
)
async def test_an_impossible_join_gets_the_reason(node, client, more, code):
    await stable(Member(client))
    for version in (5, 7):
        answer = await Member(client, version=version).join(**more)
        assert answer.error_code == code
        assert answer.generation_id == -1
        assert answer.protocol_name == (None if version >= 7 else "")


async def test_from_version_5_a_sync_has_to_name_the_groups_protocol(client):
    member = Member(client)
    await member.join()
    for wrong in ({"protocol_name": None}, {"protocol_type": None}, {"protocol_name": "sticky"}):
        assert (await member.sync(**wrong)).error_code == INCONSISTENT
    assert (await member.sync({member.id: b"x"})).assignment == b"x"


async def test_a_repeated_protocol_counts_once(client):
    member = Member(client)
    protocols = [JoinGroupRequestProtocol("range", b"first"), JoinGroupRequestProtocol("range", b"second")]
    assert [m.metadata for m in (await member.join(protocols=protocols)).members] == [b"first"]


async def test_members_may_not_hold_more_memory_than_there_is_for_all(redis_url, prefix):
    async with nodes(redis_url, prefix=prefix, group_bytes_max=100_000) as (node,):
        client = await node.client()
        known = Member(client, group="a")
        await known.join(b"x" * 90_000)
        await known.sync()
        assert (await Member(client, group="b").join(b"x" * 20_000)).error_code == FULL
        assert (await known.join(b"y" * 95_000)).error_code == 0
        # What is given back can be used again
        await known.leave()
        assert (await Member(client, group="b").join(b"x" * 20_000)).error_code == 0


# -- administrators ----------------------------------------------------------------------------------------------------


async def test_groups_are_described_as_they_stand(node, client):
    member = Member(client, instance="i")
    await member.join(b"metadata")
    await member.sync({member.id: b"assigned"})
    await node.broker.topics.create("t")
    await node.broker.offsets.commit("offsets only", [OffsetEntry("t", 0, 5)], fence=-1)
    for version in range(7):
        answer = await client.ask(DescribeGroupsRequest(["g", "offsets only", "unknown"]), version)
        settled, simple, missing = answer.groups
        assert (settled.error_code, settled.group_state, settled.protocol_type) == (0, "Stable", "consumer")
        assert settled.protocol_data == "range"
        (seen,) = settled.members
        assert (seen.member_id, seen.client_id, seen.client_host) == (member.id, "test", "/127.0.0.1")
        assert (seen.member_metadata, seen.member_assignment) == (b"metadata", b"assigned")
        assert seen.group_instance_id == ("i" if version >= 4 else None)
        assert (simple.error_code, simple.group_state, simple.members) == (0, "Empty", [])
        assert (missing.error_code, missing.group_state) == (NOT_FOUND if version >= 6 else 0, "Dead")


async def test_an_empty_group_remembers_its_type(node, client):
    member = Member(client)
    await stable(member)
    await member.leave()

    async def described():
        (group,) = (await client.ask(DescribeGroupsRequest(["g"]), 6)).groups
        return group.error_code, group.group_state, group.protocol_type

    while (seen := await described())[1] == "PreparingRebalance":
        await asyncio.sleep(0.005)  # the generation that ends it is being stored
    assert seen == (0, "Empty", "consumer")
    held = node.broker.groups.coordinator
    held.drop(held.held("g"), NotCoordinator())  # from here on only Redis knows of it
    assert await described() == (0, "Empty", "consumer")


async def test_groups_are_listed_by_state_and_type(node, client):
    await stable(Member(client, group="stable"))
    await Member(client, group="completing").join()
    await node.broker.topics.create("t")
    await node.broker.offsets.commit("offsets only", [OffsetEntry("t", 0, 5)], fence=-1)

    async def listed(*filters, version=5):
        answer = await client.ask(ListGroupsRequest(*filters), version)
        assert answer.error_code == 0
        return {g.group_id: (g.group_state, g.group_type.lower(), g.protocol_type) for g in answer.groups}

    all_of_them = {
        "completing": ("CompletingRebalance", "classic", "consumer"),
        "offsets only": ("Empty", "classic", ""),
        "stable": ("Stable", "classic", "consumer"),
    }
    assert await listed() == all_of_them
    assert await listed(["stable", "EMPTY", "nonsense"], []) == {k: all_of_them[k] for k in ("stable", "offsets only")}
    assert await listed([], ["Classic"]) == all_of_them
    assert await listed([], ["consumer"]) == await listed(["Dead"], []) == {}
    for version in range(5):
        assert set(await listed(version=version)) == set(all_of_them)


async def test_a_group_without_members_is_deleted_with_its_offsets(node, client):
    # Given a group with a member and offsets
    member = Member(client)
    await stable(member)
    await node.broker.topics.create("t")
    assert await node.broker.offsets.commit("g", [OffsetEntry("t", 0, 5)], fence=1) == [None]

    async def delete(*names, version=3):
        return [one.error_code for one in (await client.ask(DeleteGroupsRequest(list(names)), version)).results]

    # When it is to be deleted
    assert await delete("g", "unknown", "") == [NOT_EMPTY, NOT_FOUND, INVALID_GROUP]
    await member.leave()
    while (answers := await delete("g", "g", version=0)) == [NOT_EMPTY]:
        await asyncio.sleep(0.005)  # the generation that ends it is being stored
    # Then it is gone once it is empty, and so are its keys in Redis
    assert answers == [0]
    assert await delete("g") == [NOT_FOUND]
    assert await node.broker.offsets.topics_of("g") == set()
    key = GroupKeys(node.broker.store.prefix, "g").state
    assert await node.broker.store.command("EXISTS", key, key=key) == 0
    # A group of that name begins anew
    assert (await Member(client).join()).generation_id == 1


async def test_an_empty_group_is_released_and_without_offsets_removed(node, client, monkeypatch):
    monkeypatch.setattr(coordinator, "IDLE_MS", 0)
    await node.broker.topics.create("t")
    store, groups = node.broker.store, node.broker.groups
    for group in ("with", "without"):
        member = Member(client, group=group)
        await stable(member)
        await member.leave()
    await node.broker.offsets.commit("with", [OffsetEntry("t", 0, 5)], fence=-1)

    async def kept():
        keys = [GroupKeys(store.prefix, group).state for group in ("with", "without")]
        return [await store.command("HGETALL", key, key=key) for key in keys]

    while groups.coordinator.groups:
        await groups.coordinator.check_ownership()
    with_offsets, without = await kept()
    stored = dict(zip(with_offsets[::2], with_offsets[1::2], strict=True))
    assert (stored[b"kind"], stored[b"generation"], stored[b"members"]) == (b"classic", b"2", b"0")
    assert b"owner" not in with_offsets
    assert without == []
    assert set(await groups._registered()) == {"with"}
    # And when its last offset has gone too, maintenance removes the other
    await groups.tidy()
    assert set(await groups._registered()) == {"with"}
    await node.broker.offsets.delete("with", [("t", 0)])
    await groups.tidy()
    assert await kept() == [[], []]
    assert await groups._registered() == {}


# -- where the coordinator is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(7))
async def test_the_coordinator_of_groups_and_transactions_is_found(node, client, version):
    host, port = node.address
    for key_type in (0, 1) if version >= 1 else (0,):
        answer = await client.ask(FindCoordinatorRequest("k", key_type, ["k", "k2"]), version)
        found = answer.coordinators if version >= 4 else [answer]
        assert [(one.error_code, one.host, one.port) for one in found] == [(0, host, port)] * (2 if version >= 4 else 1)
        assert {one.node_id for one in found} == {node.broker.live_brokers.node_id}


@pytest.mark.parametrize(
    ("key_type", "key", "code"), [(2, "k", INVALID_REQUEST), (9, "k", INVALID_REQUEST), (0, "", 24)]
)
async def test_there_is_no_coordinator_of_what_is_not_served(client, key_type, key, code):
    answer = await client.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key]), 6)
    assert [(one.error_code, one.node_id) for one in answer.coordinators] == [(code, -1)]
    answer = await client.ask(FindCoordinatorRequest(key, key_type), 3)
    assert (answer.error_code, answer.node_id) == (code, -1)


async def test_without_a_broker_that_listens_there_is_no_coordinator(redis_url, prefix):
    async with one(redis_url, prefix, **QUICK) as broker, listening(broker) as address:
        await broker.live_brokers.announce({})
        async with KafkaClient(address) as client:
            answer = await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]), 4)
            assert answer.coordinators[0].error_code == COORDINATOR_NOT_AVAILABLE
