"""A Redis Cluster whose map changes: where calls go, in which order, and which nodes stay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from redis_ledger.store import cluster
from redis_ledger.store.address import Address
from tests.support.store_nodes import Ticks, rest
from tests.support.stub_cluster import LAST, ClusterMap, OneCluster, nodes_of, stub_cluster


@pytest.fixture
async def made(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[ClusterMap, OneCluster]]:
    redis, closed = stub_cluster(monkeypatch)
    yield redis, closed
    if not closed.closed:
        await closed.close()


@pytest.fixture
def redis(made: tuple[ClusterMap, OneCluster]) -> ClusterMap:
    return made[0]


@pytest.fixture
async def opened(made: tuple[ClusterMap, OneCluster]) -> OneCluster:
    """Slots 0 to 99 are at a, the others at b."""
    await made[1].open(lambda sentence: None)
    return made[1]


# -- a changed map -----------------------------------------------------------------------------------------------------


async def test_a_redirection_changes_the_owner_at_once(opened, redis):
    redis.gate = asyncio.Event()
    opened.issue("A", 5)
    await opened.stubs["a:1"].reply("MOVED 5 c:3")
    assert opened.owner_name(5) == "c:3"
    assert opened.stubs["c:3"].received == [b"A"]
    assert opened.owner_name(6) == "a:1"
    redis.gate.set()


@pytest.mark.parametrize(("where", "name"), [(":9", "b:9"), ("c:9", "c:9"), ("[::1]:9", "[::1]:9")])
async def test_a_redirection_without_a_host_means_the_host_of_the_node(opened, redis, where, name):
    redis.gate = asyncio.Event()
    opened.issue("A", 500)
    await opened.stubs["b:2"].reply(f"ASK 500 {where}")
    assert opened.stubs[name].received[-1] == b"A"
    assert (await opened.stubs[name].locate()).password == "secret"
    redis.gate.set()


async def test_a_node_that_gets_slots_of_another_is_compared_first(opened, redis):
    opened.admission.open()
    a, b = opened.stubs["a:1"], opened.stubs["b:2"]
    redis.gate = asyncio.Event()
    for _ in range(2):
        opened.moved(5, "b", 2, cast("Any", a))
    assert (a.rechecks, b.rechecks) == (0, 1)
    redis.answers = {"a:1": nodes_of((0, LAST, "b:2"))}
    redis.gate.set()
    await opened.reread()
    assert (a.rechecks, b.rechecks) == (0, 2)
    await opened.reread()  # nothing has changed
    assert (a.rechecks, b.rechecks) == (0, 2)


async def test_calls_wait_for_those_in_flight_at_the_old_owner(opened, redis):
    a, b = opened.stubs["a:1"], opened.stubs["b:2"]
    first, other = opened.issue("A", 5), opened.issue("X", 105)
    redis.answers = {"a:1": nodes_of((0, 9, "b:2"), (10, 99, "a:1"), (100, LAST, "b:2"))}
    await opened.reread()
    # When the old owner has not replied yet
    second = opened.issue("B", 5)
    opened.issue("C", 6)
    assert b.received == [b"X", b"C"]
    await b.reply(b"x", b"c")
    # Then the next call follows its reply
    await a.reply(b"a")
    assert b.received == [b"X", b"C", b"B"]
    await b.reply(b"b")
    assert [call.future.result() for call in (first, other, second)] == [b"a", b"x", b"b"]
    assert not opened.gates


async def test_calls_that_the_old_owner_refuses_precede_later_ones(opened, redis):
    a, b = opened.stubs["a:1"], opened.stubs["b:2"]
    opened.issue("A", 5)
    redis.answers = {"a:1": nodes_of((0, 9, "b:2"), (10, LAST, "a:1"))}
    await opened.reread()
    opened.issue("B", 5)
    await a.reply("MOVED 5 b:2")
    assert b.received == [b"A"]
    await b.reply(b"a")
    assert b.received == [b"A", b"B"]


async def test_a_replaced_node_is_closed_when_its_calls_are_answered(opened, redis):
    b = opened.stubs["b:2"]
    call = opened.issue("A", 200)
    redis.answers = {"a:1": nodes_of((0, 99, "a:1"), (100, LAST, "c:3"))}
    await opened.reread()
    assert (opened.names(), b.is_closed) == ({"a:1", "b:2", "c:3"}, False)
    await b.reply(b"a")
    cast("Ticks", opened.watch).advance(1)
    await rest()
    assert (opened.names(), b.is_closed) == ({"a:1", "c:3"}, True)
    assert call.future.result() == b"a"


async def test_a_node_with_a_changed_address_is_another_node(opened, redis):
    b = opened.stubs["b:2"]
    redis.answers = {"a:1": nodes_of((0, 99, "a:1"), (100, LAST, "b:3"))}
    await opened.reread()
    assert (opened.names(), b.is_closed) == ({"a:1", "b:3"}, True)
    opened.issue("A", 200)
    assert opened.stubs["b:3"].received == [b"A"]


async def test_calls_that_wait_for_a_lost_node_go_to_its_successor_in_order(opened, redis):
    a, b = opened.stubs["a:1"], opened.stubs["b:2"]
    redis.answers = {"a:1": nodes_of((0, 199, "a:1"), (200, LAST, "b:2"))}
    b.lose()
    for name, slot in (("A", 150), ("X", 300), ("B", 150), ("C", 151)):
        opened.issue(name, slot)
    await rest()
    await opened.refresh()
    assert a.received == [b"A", b"B", b"C"]
    assert [call.frame for call in b.waiting] == [b"X"]


async def test_calls_that_wait_for_a_lost_node_follow_a_redirection_while_no_map_can_be_read(opened, redis):
    redis.answers = {}
    opened.stubs["a:1"].lose()
    opened.issue("A", 5)
    opened.moved(5, "b", 2, cast("Any", opened.stubs["b:2"]))
    await opened.reread()
    assert opened.stubs["b:2"].received == [b"A"]


async def test_calls_that_wait_for_a_lost_node_stay_in_front_of_a_closed_gate(opened, redis):
    a, b = opened.stubs["a:1"], opened.stubs["b:2"]
    # Given a slot that is being refused by its owner, which is lost then
    redis.gate = asyncio.Event()
    opened.issue("A", 150)
    opened.issue("B", 150)
    await b.reply("TRYAGAIN Multiple keys request during rehashing of slot")
    held = opened.issue("C", 150)
    b.lose()
    redis.answers = {"a:1": nodes_of((0, LAST, "a:1"))}
    redis.gate.set()
    await opened.reread()
    await opened.timers.fire()
    # When another node has the slot, then it gets all of them, oldest first
    while a.conn is not None and a.conn.queue:
        await a.reply(b"ok")
    assert a.received == [b"A", b"B", b"C"]
    assert held.future.result() == b"ok"


# -- markers of replication --------------------------------------------------------------------------------------------


async def test_a_marker_is_in_a_slot_of_its_node_and_in_another_for_each_attempt(opened):
    for name in ("a:1", "b:2"):
        key = opened.marker_key(cast("Any", opened.stubs[name]))
        keys = [key(attempt) for attempt in range(4)]
        assert len(set(keys)) == 4
        assert {opened.owner_name(opened.slot(each)) for each in keys} == {name}
        assert key(3) == keys[3]


async def test_a_node_without_slots_gets_a_marker_too(opened, monkeypatch):
    monkeypatch.setattr(cluster, "MARKERS_TRIED_MAX", 10)
    key = opened.marker_key(cast("Any", opened._node(Address("z", 9))))
    assert key(0)
