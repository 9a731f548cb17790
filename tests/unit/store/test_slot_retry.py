"""The gate before a slot: calls keep their order through any number of refusals, and wait for a limited time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any, cast

import pytest

from redis_ledger.store import slot_retry
from redis_ledger.store.node import Node
from redis_ledger.store.topology import Topology
from tests.support.store_nodes import StubNode, Ticks, Timers, call_of, error_of, rest

SLOT, OTHER = 5, 6
MOVED, ASK = "MOVED 5 there:2", "ASK 5 there:2"
TRYAGAIN, DOWN = "TRYAGAIN Multiple keys request during rehashing of slot", "CLUSTERDOWN Hash slot not served"


class TwoNodes(Topology):
    """All slots are at `here`, until Redis replies that one is at `there`."""

    def __init__(self) -> None:
        super().__init__(Ticks(), "p")
        self.timers = Timers(self.loop)
        self.loop = cast("asyncio.AbstractEventLoop", self.timers)
        self.here, self.there = self._node("here:1"), self._node("there:2")
        self.owners: dict[int, StubNode] = {}
        self.reports: list[str] = []

    def _node(self, name: str) -> StubNode:
        async def locate() -> Any:
            raise AssertionError("it is connected")

        return StubNode(self.watch, locate, self.conclude, name=name)

    def owner(self, slot: int) -> Node:
        return cast("Node", self.owners.get(slot, self.here))

    def links(self) -> Sequence[Node]:
        return cast("list[Node]", [self.here, self.there])

    def at(self, host: str, port: int, asked: Node) -> Node:
        return cast("Node", {"here:1": self.here, "there:2": self.there}[f"{host}:{port}"])

    def moved(self, slot: int, host: str, port: int, asked: Node) -> None:
        self.reports.append(f"moved {slot} from {asked.name}")
        self.owners[slot] = cast("StubNode", self.at(host, port, asked))

    def stale(self, link: Node, why: str) -> None:
        self.reports.append(f"stale {link.name}: {why}")

    def issue(self, names: str, slot: int = SLOT) -> list[Any]:
        """Sends one call for each word; returns them."""
        calls = [call_of(name, slot) for name in names.split()]
        for call in calls:
            self.send(slot, call)
        return calls

    def tick(self, ticks: int) -> None:
        cast("Ticks", self.watch).advance(ticks)


@pytest.fixture
async def nodes() -> TwoNodes:
    return TwoNodes()


def text(node: StubNode) -> str:
    return b" ".join(node.received).decode()


def results(calls: list[Any]) -> list[Any]:
    return [call.future.result() for call in calls]


# -- the order of calls ------------------------------------------------------------------------------------------------


async def test_refused_calls_go_to_the_new_owner_and_later_calls_behind_them(nodes):
    a, b = nodes.issue("A B")
    await nodes.here.reply(MOVED)
    (c,) = nodes.issue("C")
    # Given a call that is still in flight, nothing is sent
    assert (text(nodes.here), text(nodes.there)) == ("A B", "")
    await nodes.here.reply(MOVED)
    assert text(nodes.there) == "A B"
    # Then the later call follows when both are answered
    await nodes.there.reply(b"a")
    assert text(nodes.there) == "A B"
    await nodes.there.reply(b"b")
    assert text(nodes.there) == "A B C"
    await nodes.there.reply(b"c")
    assert results([a, b, c]) == [b"a", b"b", b"c"]
    assert not nodes.gates


async def test_a_call_in_flight_that_redis_executed_is_not_sent_again(nodes):
    a, b, c = nodes.issue("A B C")
    await nodes.here.reply(MOVED, b"b", MOVED)
    assert text(nodes.there) == "A C"
    await nodes.there.reply(b"a", b"c")
    assert results([a, b, c]) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("refusals", [2, 3, 7])
async def test_the_first_call_stays_first_through_any_number_of_refusals(nodes, refusals):
    calls = nodes.issue("A B C")
    await nodes.here.reply(*[TRYAGAIN] * 3)
    # When the first call is refused again and again, while others wait and more are issued
    for number in range(refusals - 1):
        calls += nodes.issue(f"D{number}")
        await nodes.timers.fire()
        await nodes.here.reply(TRYAGAIN)
    await nodes.timers.fire()
    # Then it alone was sent each time
    assert text(nodes.here) == "A B C" + " A" * refusals
    nodes.here.received.clear()
    await nodes.here.reply(b"a")
    assert text(nodes.here) == "B C"
    await nodes.here.reply(b"b", b"c")
    later = [f"D{number}" for number in range(refusals - 1)]
    assert text(nodes.here).split() == ["B", "C", *later]
    await nodes.here.reply(*later)
    assert not nodes.gates
    assert all(call.future.done() for call in calls)


async def test_calls_that_are_refused_behind_the_first_one_keep_their_order_too(nodes):
    nodes.issue("A B C D")
    await nodes.here.reply(*[TRYAGAIN] * 4)
    nodes.issue("E")
    await nodes.timers.fire()
    await nodes.here.reply(b"a")
    # When some of the rest are refused a second time
    assert text(nodes.here) == "A B C D A B C D"
    nodes.here.received.clear()
    await nodes.here.reply(TRYAGAIN, b"c", TRYAGAIN)
    await nodes.timers.fire()
    await nodes.here.reply(b"b")
    # Then they precede what was issued later
    assert text(nodes.here) == "B D"
    await nodes.here.reply(b"d")
    assert text(nodes.here) == "B D E"


async def test_the_first_call_is_in_front_when_it_moves_between_nodes(nodes):
    nodes.issue("A B")
    await nodes.here.reply(MOVED, MOVED)
    nodes.issue("C")
    await nodes.there.reply("MOVED 5 here:1", "MOVED 5 here:1")
    assert text(nodes.here) == "A B A B"
    await nodes.here.reply(b"a", b"b")
    assert text(nodes.here) == "A B A B C"
    assert nodes.reports == ["moved 5 from here:1", "moved 5 from there:2"]


async def test_calls_whose_node_is_gone_precede_those_that_were_issued_later(nodes):
    nodes.issue("A")
    await nodes.here.reply(TRYAGAIN)
    nodes.issue("C")
    nodes.gates[SLOT].strand(call_of("B", SLOT))
    await nodes.timers.fire()
    await nodes.here.reply(b"a")
    assert text(nodes.here) == "A A B"
    await nodes.here.reply(b"b")
    assert text(nodes.here) == "A A B C"


# -- several slots -----------------------------------------------------------------------------------------------------


async def test_slots_are_refused_and_retried_apart(nodes):
    nodes.issue("A")
    nodes.issue("X", OTHER)
    await nodes.here.reply(MOVED, TRYAGAIN)
    assert text(nodes.there) == "A"
    assert nodes.timers.waiting == 1
    nodes.issue("B")
    nodes.issue("Y", OTHER)
    await nodes.there.reply(b"a")
    assert text(nodes.there) == "A B"
    # Then the other slot is with the old node, after its pause
    assert text(nodes.here) == "A X"
    await nodes.timers.fire()
    await nodes.here.reply(b"x")
    assert text(nodes.here) == "A X X Y"
    assert not nodes.gates


async def test_calls_of_another_slot_pass_while_one_is_refused(nodes):
    nodes.issue("A")
    await nodes.here.reply(TRYAGAIN)
    (other,) = nodes.issue("X", OTHER)
    await nodes.here.reply(b"x")
    assert other.future.result() == b"x"


# -- what each refusal leads to ----------------------------------------------------------------------------------------


async def test_each_call_is_asked_for_at_the_named_node_and_the_next_one_goes_to_the_owner(nodes):
    a, b = nodes.issue("A B")
    await nodes.here.reply(ASK, ASK)
    asking = "*1\r\n$6\r\nASKING\r\n"
    assert text(nodes.there) == f"{asking} A {asking} B"
    nodes.issue("C")
    await nodes.there.reply(b"OK", b"a", b"OK", b"b")
    assert results([a, b]) == [b"a", b"b"]
    assert text(nodes.here) == "A B C"
    assert nodes.reports == []


async def test_a_call_without_a_waiter_is_not_asked_for(nodes):
    a, _ = nodes.issue("A B")
    await nodes.here.reply(ASK)
    a.future.cancel()
    await nodes.here.reply(ASK)
    assert nodes.there.received[1::2] == [b"B"]


async def test_the_first_refusal_decides_what_follows(nodes):
    nodes.issue("A B")
    await nodes.here.reply(ASK, TRYAGAIN)
    assert nodes.there.received[1::2] == [b"A", b"B"]
    assert nodes.timers.delays == []


async def test_a_second_refusal_decides_anew(nodes):
    nodes.issue("A")
    await nodes.here.reply(TRYAGAIN)
    await nodes.timers.fire()
    await nodes.here.reply(MOVED)
    assert text(nodes.there) == "A"
    assert nodes.timers.waiting == 0


async def test_without_an_owner_the_map_is_read_again_and_the_first_call_sent_after_a_pause(nodes):
    nodes.issue("A B")
    await nodes.here.reply(DOWN, DOWN)
    assert nodes.reports == [f"stale here:1: {DOWN}"]
    assert text(nodes.here) == "A B"
    nodes.owners[SLOT] = nodes.there
    await nodes.timers.fire()
    assert text(nodes.there) == "A"


async def test_a_script_that_is_missing_is_loaded_before_its_calls_are_sent_again(nodes):
    nodes.issue("A B")
    await nodes.here.reply("NOSCRIPT No matching script", "NOSCRIPT No matching script")
    assert nodes.here.loaded == ["NOSCRIPT No matching script"]
    assert text(nodes.here) == "A B A B"
    assert nodes.timers.delays == []


async def test_redirections_in_a_circle_are_followed_with_pauses(nodes):
    nodes.issue("A")
    at, other = nodes.here, nodes.there
    for _ in range(slot_retry.HOPS_MAX):
        await at.reply(f"MOVED 5 {other.name}")
        at, other = other, at
    assert nodes.timers.delays == []
    assert len(nodes.here.received) + len(nodes.there.received) == slot_retry.HOPS_MAX + 1
    await at.reply(f"MOVED 5 {other.name}")
    assert len(nodes.timers.delays) == 1
    await nodes.timers.fire()
    assert len(nodes.here.received) + len(nodes.there.received) == slot_retry.HOPS_MAX + 2


async def test_pauses_become_longer_up_to_a_limit(nodes, monkeypatch):
    monkeypatch.setattr(random, "uniform", lambda least, most: most)
    nodes.issue("A")
    for _ in range(9):
        await nodes.here.reply(TRYAGAIN)
        await nodes.timers.fire()
    assert nodes.timers.delays == [0.01, 0.02, 0.04, 0.08, 0.16, 0.25, 0.25, 0.25, 0.25]


# -- giving up ---------------------------------------------------------------------------------------------------------


async def test_a_call_that_redis_keeps_refusing_fails_with_the_reason_and_younger_ones_go_on(nodes):
    (a,) = nodes.issue("A")
    nodes.tick(4)
    b, c = nodes.issue("B C")
    nodes.tick(5)  # A is 9 ticks old, of 10
    await nodes.here.reply(*[TRYAGAIN] * 3)
    (d,) = nodes.issue("D")
    nodes.tick(1)
    await nodes.timers.fire()
    await nodes.here.reply(TRYAGAIN)
    assert error_of(a) == f"StoreUnavailable: Redis keeps refusing: {TRYAGAIN}"
    await nodes.timers.fire()
    assert text(nodes.here) == "A B C A B"
    await nodes.here.reply(b"b")
    await nodes.here.reply(b"c")
    await nodes.here.reply(b"d")
    assert results([b, c, d]) == [b"b", b"c", b"d"]


async def test_a_call_that_waits_behind_the_refused_one_gives_up_as_well(nodes):
    nodes.issue("A")
    await nodes.here.reply(TRYAGAIN)
    (held,) = nodes.issue("B")
    nodes.tick(10)
    await nodes.timers.fire()
    await nodes.here.reply(TRYAGAIN)
    assert error_of(held).startswith("StoreUnavailable: Redis keeps refusing")
    # When none is left, the slot is free
    await nodes.timers.fire()
    assert not nodes.gates
    nodes.issue("C")
    assert text(nodes.here) == "A A C"


async def test_a_call_that_was_written_before_times_out_and_is_not_reported_as_unsent(nodes):
    (a,) = nodes.issue("A")
    a.written = True
    nodes.tick(10)
    await nodes.here.reply(TRYAGAIN)
    assert error_of(a) == f"StoreTimeout: Redis keeps refusing: {TRYAGAIN}"


async def test_calls_of_a_closed_gate_time_out_and_are_skipped(nodes):
    (a,) = nodes.issue("A")
    nodes.tick(1)
    (b,) = nodes.issue("B")
    await nodes.here.reply(TRYAGAIN, TRYAGAIN)
    (held,) = nodes.issue("C")
    b.written = True
    nodes.tick(19)
    assert error_of(a) == "StoreUnavailable: Redis did not take the call in time."
    assert not b.future.done()
    nodes.tick(1)
    assert error_of(b) == "StoreTimeout: Redis did not take the call in time."
    assert error_of(held).startswith("StoreUnavailable")
    nodes.issue("D")
    await nodes.timers.fire()
    assert text(nodes.here) == "A B D"


async def test_after_a_pause_the_first_call_with_a_waiter_is_sent(nodes):
    a, b, _ = nodes.issue("A B C")
    await nodes.here.reply(*[TRYAGAIN] * 3)
    a.future.cancel()
    await nodes.timers.fire()
    assert text(nodes.here) == "A B C B"
    b.future.cancel()
    await nodes.here.reply(TRYAGAIN)
    await nodes.timers.fire()
    assert text(nodes.here) == "A B C B C"


async def test_closing_fails_all_calls_and_sends_nothing_more(nodes):
    refused = nodes.issue("A B")
    await nodes.here.reply(TRYAGAIN, TRYAGAIN)
    held = nodes.issue("C")
    await nodes.close()
    await nodes.timers.fire()
    assert {error_of(call) for call in (*refused, *held)} == {"StoreUnavailable: the store is closed."}
    assert text(nodes.here) == "A B"


async def test_a_refusal_that_arrives_after_closing_fails_the_call(nodes):
    a, b = nodes.issue("A B")
    await nodes.here.reply(MOVED)
    nodes.closed = True
    await nodes.here.reply(MOVED)
    await rest()
    assert error_of(b) == "StoreUnavailable: the store is closed."
    assert not a.future.done()  # `close` fails it
    assert text(nodes.there) == ""
