"""Any history of a consumer group with correct clients."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.consumer_group import (
    Client,
    World,
    slices,
    topics,
)
from tests.support.examples import examples

CLIENTS = ("a", "b", "c", "d")
events = st.one_of(
    st.tuples(st.just("beat"), st.sampled_from(CLIENTS), st.booleans()),
    st.tuples(st.just("beat"), st.sampled_from(CLIENTS), st.just(False)),
    st.tuples(st.just("leave"), st.sampled_from(CLIENTS), st.booleans()),
    st.tuples(st.just("grow"), st.sampled_from(["t", "u", "v"]), st.integers(0, 4)),
    st.tuples(st.just("wish"), st.sampled_from(CLIENTS), st.sampled_from([("t",), ("t", "u"), ("v",), ()])),
    st.tuples(st.just("restart"), st.sampled_from(CLIENTS), st.integers(0, 99)),
    st.tuples(st.just("move"), st.just("broker"), st.just(0)),
)


@settings(max_examples=examples(300))
@given(history=st.lists(events, max_size=60))
def test_no_partition_is_read_by_two_and_in_the_end_each_by_one(history):
    # Given any history of members that come, go, lose answers and change their minds, of topics and of dying brokers
    world = World(t=3)
    counts = {"t": 3}
    clients = {name: Client(world, name, ("t",), instance="i" + name if name > "b" else "") for name in CLIENTS}
    for what, who, how in history:
        if what == "beat":
            clients[who].heartbeat(is_lost=how)
        elif what == "leave" and who in world.group.members and clients[who].name == who:
            clients[who].leave(for_a_while=how)
        elif what == "grow":
            counts[who] = how
            world.topics = topics(**{name: count for name, count in counts.items() if count})
        elif what == "wish":
            clients[who].names, clients[who]._is_unsure = how, True
        elif what == "restart" and clients[who].instance and clients[who].name in world.group.members:
            clients[who].leave(for_a_while=True)
            clients[who].name = f"{who}{how}"
        elif what == "move":
            before = {
                member.id: (member.at, member.target, member.subscription) for member in world.group.members.values()
            }
            world.move()
            after = {
                member.id: (member.at, member.target, member.subscription) for member in world.group.members.values()
            }
            assert after == before
        everything = [one for client in clients.values() for one in client.owned]
        assert len(everything) == len(set(everything)), (what, who, how)
        assert world.group.generation >= max(client.epoch for client in clients.values())
    # When all members continue to send heartbeats
    for _ in range(8):
        for client in clients.values():
            client.heartbeat()
    # Then the group comes to rest, and every subscribed partition is read by one member
    assert world.state == "Stable"
    wanted = {name for client in clients.values() for name in client.names if counts.get(name)}
    read = sorted(one for client in clients.values() for one in client.owned)
    assert read == sorted(slices(**{name: range(counts[name]) for name in wanted}))
