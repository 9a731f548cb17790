"""The gate before one slot while Redis refuses its calls: keeps them in order until they pass.

    in flight   A  B  C        A is refused (MOVED, ASK, TRYAGAIN, NOSCRIPT ...): the gate closes
    refused     A  C           calls in flight return, refused or answered; a fence marks their end
    held        D  E           new calls wait
    then        A C again; after them D E, and the gate is removed

After a pause only the first call is sent, so that a slot that is still refused gets one call and not thousands.
Unavoidable: B was sent before A was refused, and may have been executed.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import Protocol

from redis_ledger.errors import StoreTimeout, StoreUnavailable
from redis_ledger.store.connection import RedisCall, pack
from redis_ledger.store.error_replies import Action, ErrorReply
from redis_ledger.store.node import Node
from redis_ledger.store.watch import Watch

PAUSE_S_MIN, PAUSE_S_MAX = 0.005, 0.25
HOPS_MAX = 5  # refusals in a row before a redirection is retried with a pause
_ASKING = pack((b"ASKING",))


class Routing(Protocol):
    """Routes calls to nodes. `Topology` implements it."""

    loop: asyncio.AbstractEventLoop
    watch: Watch
    closed: bool

    def owner(self, slot: int) -> Node: ...

    def at(self, host: str, port: int, asked: Node) -> Node: ...

    def moved(self, slot: int, host: str, port: int, asked: Node) -> None: ...

    def stale(self, link: Node, why: str) -> None: ...

    def send(self, slot: int, call: RedisCall) -> None: ...

    def open_gate(self, place: int) -> None: ...


class SlotRetry:
    """place: its name among the topology's gates.  link: where the slot's calls are in flight when the gate closes."""

    def __init__(self, topology: Routing, slot: int, place: int, link: Node) -> None:
        self._topology = topology
        self._slot, self._place = slot, place
        self._refused: deque[RedisCall] = deque()  # returned since the last fence
        self._rest: deque[RedisCall] = deque()  # refused before, not sent again yet; after those
        self._held: deque[RedisCall] = deque()
        self._verdict: tuple[Node, ErrorReply] | None = None
        self._attempt = 0
        self._awaited = 0  # current fences and timers
        self._fence(link)

    def hold(self, call: RedisCall) -> None:
        """Holds a call that is issued while the gate is closed."""
        if not call.tick:
            call.tick = self._topology.watch.tick
        self._held.append(call)

    def refuse(self, call: RedisCall, link: Node, verdict: ErrorReply) -> None:
        """Takes a call that Redis refused.  The first one since the last fence determines the next step."""
        call.hops += 1
        self._refused.append(call)
        if self._verdict is None:
            self._verdict = link, verdict

    def strand(self, call: RedisCall) -> None:
        """Takes a call whose node is gone; it was issued before all calls held here."""
        self._refused.append(call)

    def expire(self, oldest: int) -> None:
        """Fails calls issued at that tick or before; they keep their places and are skipped."""
        for call in (*self._refused, *self._rest, *self._held):
            if call.tick <= oldest:
                error = StoreTimeout if call.written else StoreUnavailable
                call.fail(error("Redis did not take the call in time."))

    def close(self) -> None:
        for call in (*self._refused, *self._rest, *self._held):
            call.fail(StoreUnavailable("the store is closed."))

    def _fence(self, link: Node) -> None:
        self._awaited += 1
        link.fence(self._settled)

    def _settled(self) -> None:
        """All calls in flight have returned: retries the refused ones, or opens the gate."""
        topology = self._topology
        self._awaited -= 1
        if self._awaited or topology.closed:
            return
        self._rest.extendleft(reversed(self._refused))
        self._refused.clear()
        found, self._verdict = self._verdict, None
        if not self._rest:
            self._open()
        elif found is None:  # the first call was executed, or the calls were stranded and the map has changed
            self._send(len(self._rest))
        else:
            self._again(*found)

    def _open(self) -> None:
        topology = self._topology
        topology.open_gate(self._place)
        for call in self._held:
            if not call.future.done():
                topology.send(self._slot, call)

    def _again(self, link: Node, verdict: ErrorReply) -> None:
        topology, course = self._topology, verdict.course
        if course is Action.MOVED:
            topology.moved(self._slot, verdict.host, verdict.port, link)
        elif course is Action.STALE:
            topology.stale(link, verdict.text)
        if course in (Action.LATER, Action.STALE) or self._rest[0].hops > HOPS_MAX:
            self._pause(verdict)
        elif course is Action.ASK:
            self._ask(topology.at(verdict.host, verdict.port, link))
        else:
            if course is Action.LOAD:
                link.load_scripts(verdict.text)
            self._send(len(self._rest))

    def _pause(self, verdict: ErrorReply) -> None:
        """Retries the head after a pause.  Calls older than retry_ms fail with the reason for their refusal."""
        watch = self._topology.watch
        oldest = watch.tick - min(watch.retry_ticks, watch.timeout_ticks)
        for calls in (self._rest, self._held):
            while calls and calls[0].tick <= oldest:
                call = calls.popleft()
                error = StoreTimeout if call.written else StoreUnavailable
                call.fail(error(f"Redis keeps refusing: {verdict.text}"))
        self._attempt += 1
        self._awaited += 1
        pause_s = min(PAUSE_S_MAX, PAUSE_S_MIN * 2 ** min(self._attempt, 16)) * random.uniform(0.5, 1.0)
        self._topology.loop.call_later(pause_s, self._probe)

    def _probe(self) -> None:
        self._awaited -= 1
        if not self._topology.closed:
            self._send(1)

    def _send(self, count: int) -> None:
        link = self._topology.owner(self._slot)
        while self._rest and count:
            call = self._rest.popleft()
            if not call.future.done():
                link.send(call)
                count -= 1
        self._fence(link)

    def _ask(self, link: Node) -> None:
        loop = self._topology.loop
        while self._rest:
            call = self._rest.popleft()
            if call.future.done():
                continue
            # ASKING applies to the next command (MULTI extends it to EXEC).  If the connection breaks
            # between the two, the target replies MOVED and the call returns here.
            asking: asyncio.Future[object] = loop.create_future()
            asking.add_done_callback(lambda future: future.cancelled() or future.exception())
            link.send(RedisCall(asking, _ASKING, self._slot, False))
            link.send(call)
        self._fence(link)
