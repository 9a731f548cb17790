"""Topologies: what a reply means for its call, which calls wait together, and how a store opens and closes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from hiredis import ReplyError

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store import slot_retry, topology
from redis_ledger.store.address import parse_url
from redis_ledger.store.connection import RedisCall
from redis_ledger.store.connection_errors import Unreachable
from redis_ledger.store.node import Node
from redis_ledger.store.topology import LOADS_MAX, ScriptMissing, Standalone, Topology, Waiting
from tests.support.store_nodes import StubNode, Ticks, call_of, error_of, rest

NOSCRIPT, MISSING = "NOSCRIPT No matching script.", "ERR Function not found"


class OneNode(Topology):
    """All slots are at one node."""

    def __init__(self) -> None:
        super().__init__(Ticks(), "p")
        self.node = StubNode(self.watch, cast("Any", None), self.conclude, name="here:1")

    def owner(self, slot: int) -> Node:
        return cast("Node", self.node)

    def links(self) -> Sequence[Node]:
        return cast("list[Node]", [self.node])

    def issue(self, name: str = "A", slot: int = 5, *, apart: bool = False) -> RedisCall:
        call = call_of(name, slot, apart=apart)
        self.send(slot, call)
        return call

    def unit(self, replies: int = 4) -> RedisCall:
        """MULTI, two commands and EXEC."""
        call = call_of("unit", 5)
        call.expect(replies)
        self.send(5, call)
        return call

    async def reply_unit(self, *replies: object) -> None:
        """Text is an error."""
        found = [ReplyError(reply) if isinstance(reply, str) else reply for reply in replies]
        assert self.node.conn is not None
        self.node.conn.queue[0].got = found[:-1]
        assert len(found) == 4
        call = self.node.conn.queue.popleft()
        self.conclude(cast("Node", self.node), call, found[-1])
        self.node.leave(call)
        await rest()


@pytest.fixture
async def one(monkeypatch) -> OneNode:
    """A refused call is sent again after more time than a test takes."""
    monkeypatch.setattr(slot_retry, "PAUSE_S_MIN", 600.0)
    monkeypatch.setattr(slot_retry, "PAUSE_S_MAX", 600.0)
    return OneNode()


# -- replies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("ERR wrong number of arguments", "ReplyError: ERR wrong number of arguments"),
        ("WRONGTYPE Operation", "ReplyError: WRONGTYPE Operation"),
        ("OOM command not allowed", "StorageFull: Redis at here:1 has reached its maxmemory; nothing was written."),
    ],
)
async def test_an_error_that_a_retry_does_not_change_is_for_the_caller(one, text, error):
    call = one.issue()
    await one.node.reply(text)
    assert error_of(call) == error
    assert not one.gates
    assert one.node.received == [b"A"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("MISCONF Redis is configured to save", "RedisUnfit"),
        ("NOREPLICAS Not enough good replicas", "TooFewReplicas"),
        ("DAMAGED The queue of hash slot 7 script: user_script", "StoredDamaged"),
    ],
)
async def test_a_redis_that_cannot_write_is_an_error_of_its_own(one, text, kind):
    call = one.issue()
    await one.node.reply(text)
    assert error_of(call).startswith(f"{kind}: ")
    assert not one.gates


@pytest.mark.parametrize("text", [NOSCRIPT, MISSING])
async def test_a_script_that_stays_missing_is_loaded_a_few_times(one, text):
    call = one.issue()
    for _ in range(LOADS_MAX):
        await one.node.reply(text)
        assert not call.future.done()
    await one.node.reply(text)
    assert error_of(call) == f"ReplyError: {text}"
    assert one.node.loaded == [text] * LOADS_MAX


async def test_a_refused_call_without_a_waiter_holds_no_other_call(one):
    call = one.issue()
    call.future.cancel()
    await one.node.reply("TRYAGAIN later")
    one.issue("B")
    assert one.node.received == [b"A", b"B"]
    assert not one.gates


# -- units -------------------------------------------------------------------------------------------------------------


async def test_a_unit_is_answered_with_the_replies_of_its_commands(one):
    call = one.unit()
    await one.reply_unit(b"OK", b"QUEUED", b"QUEUED", [1, 2])
    assert call.future.result() == [1, 2]


async def test_an_error_of_a_command_within_a_unit_is_one_of_its_replies(one):
    call = one.unit()
    await one.reply_unit(b"OK", b"QUEUED", b"QUEUED", [1, ReplyError("WRONGTYPE no")])
    one_reply, error = call.future.result()
    assert (one_reply, str(error)) == (1, "WRONGTYPE no")


async def test_a_discarded_unit_fails_with_the_reason_of_its_first_command(one):
    call = one.unit()
    await one.reply_unit(b"OK", "OOM command not allowed", "ERR other", "EXECABORT Transaction discarded")
    assert error_of(call).startswith("StorageFull: ")


async def test_a_unit_that_is_refused_is_sent_again_as_a_whole(one):
    call = one.unit()
    await one.reply_unit(b"OK", b"QUEUED", NOSCRIPT, "EXECABORT Transaction discarded")
    assert one.node.received == [b"unit", b"unit"]
    assert call.got == []
    await one.reply_unit(b"OK", b"QUEUED", b"QUEUED", [1, 2])
    assert call.future.result() == [1, 2]


@pytest.mark.parametrize("text", [NOSCRIPT, MISSING])
async def test_a_script_that_is_missing_within_a_unit_is_loaded_and_the_unit_is_not_repeated(one, text):
    call = one.unit()
    await one.reply_unit(b"OK", b"QUEUED", b"QUEUED", [1, ReplyError(text)])
    assert isinstance(call.future.exception(), ScriptMissing)
    assert one.node.loaded == [text]
    assert one.node.received == [b"unit"]


# -- gates -------------------------------------------------------------------------------------------------------------


async def test_calls_that_wait_apart_hold_no_others_of_their_slot(one):
    apart = one.issue("A", apart=True)
    one.issue("B")
    await one.node.reply("TRYAGAIN later", b"b")
    # When the call that waits apart is refused, later ones of its kind wait, and the others pass
    later = one.issue("C", apart=True)
    passed = one.issue("D")
    assert one.node.received == [b"A", b"B", b"D"]
    await one.node.reply(b"d")
    assert passed.future.result() == b"d"
    assert not any(call.future.done() for call in (apart, later))


@pytest.mark.parametrize(("refused", "other"), [(0, 1), (1, 0), (0, -1)])
async def test_gates_of_calls_that_wait_apart_are_those_of_no_other_slot(one, refused, other):
    one.issue("A", refused, apart=True)
    await one.node.reply("TRYAGAIN later")
    for is_apart in (True, False):
        one.issue("B", other, apart=is_apart)
    one.issue("C", refused)
    assert one.node.received == [b"A", b"B", b"B", b"C"]


async def test_calls_behind_a_gate_time_out(one):
    first = one.issue("A")
    await one.node.reply("TRYAGAIN later")
    held = one.issue("B")
    one.watch.advance(19)
    assert not held.future.done()
    one.watch.advance(1)
    assert error_of(first) == error_of(held) == "StoreUnavailable: Redis did not take the call in time."


# -- opening and closing -----------------------------------------------------------------------------------------------


async def test_a_closed_store_fails_calls_and_closes_its_nodes(one):
    refused = one.issue("A")
    late = one.issue("X", 6)
    await one.node.reply("TRYAGAIN later")
    await one.close()
    after = one.issue("B")
    await one.node.reply("TRYAGAIN later")
    assert {error_of(call) for call in (refused, late, after)} == {"StoreUnavailable: the store is closed."}
    assert one.node.is_closed
    assert not one.gates


async def test_opening_waits_for_one_node(one):
    other = StubNode(one.watch, cast("Any", None), one.conclude, name="there:2")
    other.why = Unreachable("connection refused")
    sentences: list[str] = []

    def on_wait(sentence: str) -> None:
        sentences.append(sentence)
        one.node.ready.set()

    await one.first_ready([cast("Node", other), cast("Node", one.node)], on_wait)
    assert sentences == ["waiting for Redis at there:2: connection refused"]


async def test_a_node_that_cannot_be_used_at_all_is_reported_at_once(one):
    one.node.why = Unreachable("it refuses the password", "Correct it.", is_final=True)
    with pytest.raises(StoreUnavailable, match="Redis at here:1 cannot be used: it refuses the password"):
        await one.first_ready(one.links(), lambda sentence: None)


async def test_of_several_nodes_one_that_cannot_be_used_does_not_end_the_wait(one):
    bad = StubNode(one.watch, cast("Any", None), one.conclude, name="there:2")
    bad.why = Unreachable("it refuses the password", is_final=True)
    links = [cast("Node", one.node), cast("Node", bad)]
    await one.first_ready(links, lambda sentence: one.node.ready.set())
    # When none is ready in time, then its reason is reported
    one.node.ready.clear()
    one.watch.retry_ms = 0
    with pytest.raises(StoreUnavailable, match="there:2 cannot be used: it refuses the password"):
        await one.first_ready(links, lambda sentence: None)


async def test_a_node_that_does_not_reply_in_time_is_reported(one):
    one.watch.retry_ms = 0
    with pytest.raises(StoreUnavailable, match="Redis at here:1 cannot be used: it does not reply"):
        await one.first_ready(one.links(), lambda sentence: None)


def test_the_reason_of_a_wait_is_told_at_once_and_again_from_time_to_time():
    told: list[str] = []
    waiting = Waiting(told.append, 100.0)
    waiting.tell("no reply", 100.0, is_sure=False)
    assert told == []
    waiting.tell("refused", 100.0)
    waiting.tell("refused", 104.9)
    assert told == ["refused"]
    waiting.tell("refused", 105.0)
    waiting.tell("loading", 105.1)
    assert told == ["refused", "refused", "loading"]


def test_a_reason_that_is_not_certain_is_told_after_a_second():
    told: list[str] = []
    waiting = Waiting(told.append, 100.0)
    waiting.tell("no reply", 100.9, is_sure=False)
    waiting.tell("no reply", 101.0, is_sure=False)
    assert told == ["no reply"]


async def test_one_server_has_all_slots_and_is_located_anew_when_it_is_unfit(monkeypatch):
    monkeypatch.setattr(topology, "Node", StubNode)
    store = Standalone(Ticks(), parse_url("redis://here:1"), "p")
    node = cast("StubNode", store.owner(7))
    assert (store.slot(b"any"), node.name) == (topology.ANY, "here:1")
    assert [link.name for link in store.links()] == ["here:1"]
    call = call_of("A")
    store.send(topology.ANY, call)
    await node.reply("READONLY You can't write against a read only replica.")
    assert node.resets == ["READONLY You can't write against a read only replica."]
    # A replica is accepted until the store is open, so that all its problems are reported
    assert node.given["primary"]() is False
    store.admission.open()
    assert node.given["primary"]() is True
