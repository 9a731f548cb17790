"""Routes calls to nodes, and retries those that Redis refuses.

    call ─▶ slot ─▶ gate closed? ─▶ held in order (slot_retry.py)
                 └▶ owner(slot) ─▶ node ─▶ connection

One server is a cluster with one slot, -1: `Standalone`.  sentinel.py and cluster.py find their primaries and follow
failovers.  error_replies.py classifies errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hiredis import ReplyError

from redis_ledger.errors import StorageFull, StoredDamaged, StoreUnavailable
from redis_ledger.store.address import Address, Target
from redis_ledger.store.admission import Admission
from redis_ledger.store.connection import Connection, RedisCall
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.error_replies import Action, ErrorReply, classify, classify_unit, missing_script
from redis_ledger.store.keys import replication_marker
from redis_ledger.store.node import Node
from redis_ledger.store.node_status import refused_by_redis
from redis_ledger.store.replication import ReplicationBarrier
from redis_ledger.store.replication_info import ReplicationInfo
from redis_ledger.store.script_calls import ScriptCalls
from redis_ledger.store.slot_retry import SlotRetry
from redis_ledger.store.watch import Watch

ANY = -1  # the slot of a call that may go to any node


TELL_FIRST_S, TELL_EVERY_S = 1.0, 5.0
LOADS_MAX = 3  # of a script that is still missing afterwards


def gate_of(call: RedisCall) -> int:
    """Returns the gate of the call: that of its slot, or a separate one for calls that wait separately."""
    return -2 - call.slot if call.apart else call.slot


class ScriptMissing(Exception):
    """A script inside MULTI was not loaded.  It is loaded now; the effects of the other commands remain."""


class Topology:
    """The nodes of a store.  A subclass finds the owner of a slot."""

    has_slots = False  # whether keys are spread over nodes

    def __init__(self, watch: Watch, prefix: str, copies: CopiesRequired | None = None) -> None:
        """copies: required before a call is answered; None: replies do not wait for replicas."""
        self.prefix, self.copies = prefix, copies
        self.loop = asyncio.get_running_loop()
        self.watch = watch
        self.admission = Admission(self, prefix)
        self.scripts = ScriptCalls()
        self.gates: dict[int, SlotRetry] = {}
        self.closed = False
        watch.watched.append(self._look)

    def _look(self) -> None:
        oldest = self.watch.tick - self.watch.timeout_ticks
        for gate in self.gates.values():
            gate.expire(oldest)

    def slot(self, key: bytes) -> int:
        return ANY

    def owner(self, slot: int) -> Node:
        raise NotImplementedError

    def links(self) -> Sequence[Node]:
        """Of every primary."""
        raise NotImplementedError

    async def open(self, on_wait: OnWait) -> None:
        """Raises StoreUnavailable if Redis cannot be reached within retry_ms, or refuses the credentials."""
        raise NotImplementedError

    @property
    def open_barrier(self) -> Callable[[Node, Connection, Address, ReplicationInfo], ReplicationBarrier] | None:
        return None if self.copies is None else self._open_barrier

    def _open_barrier(
        self, link: Node, conn: Connection, address: Address, info: ReplicationInfo
    ) -> ReplicationBarrier:
        assert self.copies is not None
        return ReplicationBarrier(
            address, self.copies, info, self.marker_key(link), partial(self.conclude, link),
            lambda why: link.reset(ConnectionError(f"its replies cannot be confirmed: {why}")), conn.pause,
        )  # fmt: skip

    def marker_key(self, link: Node) -> Callable[[int], bytes]:
        """The key of the node that is written before WAIT, by the number of the attempt."""
        key = replication_marker(self.prefix, 0)
        return lambda _: key

    def at(self, host: str, port: int, asked: Node) -> Node:
        """Returns the link to a node from a redirection; an empty host is the redirecting host."""
        return asked

    def moved(self, slot: int, host: str, port: int, asked: Node) -> None:
        """Records that the slot is on that node."""

    async def learn(self) -> None:
        """Reads the owners of slots again, if they can change."""
        await asyncio.sleep(0.05)

    def stale(self, link: Node, why: str) -> None:
        """Finds the node that replaces an unfit one."""
        link.reset(ConnectionError(why))

    def send(self, slot: int, call: RedisCall) -> None:
        if self.gates and (gate := self.gates.get(gate_of(call))) is not None:
            gate.hold(call)
        elif self.closed:
            call.fail(StoreUnavailable("the store is closed."))
        else:
            self.owner(slot).send(call)

    def conclude(self, link: Node, call: RedisCall, reply: Any) -> None:
        """Handles every reply except the plain success of a plain call."""
        if call.replies > 1:
            if isinstance(reply, list) and ReplyError not in map(type, reply):
                call.answer(reply)
                return
            replies, call.got = [*call.got, reply], []
            unit = classify_unit(replies)
            if unit is None:
                self._conclude_unit(link, call, reply)
                return
            verdict = unit
        elif isinstance(reply, ReplyError):
            verdict = classify(reply)
        else:
            call.answer(reply)
            return
        course = verdict.course
        if course is Action.FAULT or (course is Action.LOAD and call.hops >= LOADS_MAX):
            # A script that stays missing was refused when it was loaded.
            call.fail(ReplyError(verdict.text))
        elif course is Action.FULL:
            call.fail(StorageFull(f"Redis at {link.name} has reached its maxmemory; nothing was written."))
        elif course is Action.DAMAGED:
            call.fail(StoredDamaged.of(verdict.text))
        elif course is Action.LATE:
            link.time.doubt()
            call.fail(StoreUnavailable(f"Redis at {link.name} got the call too late; it was not executed."))
        elif course is Action.UNABLE:
            call.fail(refused_by_redis(link.name, verdict.text))
        elif not call.future.done():
            self._refused(link, call, verdict)

    def _refused(self, link: Node, call: RedisCall, verdict: ErrorReply) -> None:
        if self.closed:
            call.fail(StoreUnavailable("the store is closed."))
            return
        place = gate_of(call)
        gate = self.gates.get(place)
        if gate is None:
            gate = self.gates[place] = SlotRetry(self, call.slot, place, link)
        gate.refuse(call, link, verdict)

    def _conclude_unit(self, link: Node, call: RedisCall, result: Any) -> None:
        missing = missing_script(result)
        if not missing:
            call.answer(result)
            return
        loaded = link.load_scripts(missing)
        loaded.add_done_callback(lambda _: call.fail(ScriptMissing()))

    def open_gate(self, place: int) -> None:
        """Removes a gate: calls of its slot go to the owner again."""
        del self.gates[place]

    async def close(self) -> None:
        self.closed = True
        for gate in self.gates.values():
            gate.close()
        self.gates.clear()
        await asyncio.gather(*(link.close() for link in self.links()))
        self.watch.stop()

    async def first_ready(self, links: Sequence[Node], on_wait: OnWait) -> None:
        """Waits until one link is connected; raises StoreUnavailable with the reason of one that is not."""
        waiting = Waiting(on_wait, self.loop.time())
        until = self.loop.time() + self.watch.retry_ms / 1000
        while not any(link.ready.is_set() for link in links):
            hopeless = [link for link in links if link.why is not None and link.why.is_final]
            worst = (hopeless or list(links))[0]
            why = worst.why or worst.silence()
            if len(hopeless) == len(links) or self.loop.time() >= until:
                raise StoreUnavailable(f"Redis at {worst.name} cannot be used: {why}")
            waiting.tell(f"waiting for Redis at {worst.name}: {why.reason}", self.loop.time(), is_sure=bool(worst.why))
            await asyncio.sleep(0.005)


OnWait = Callable[[str], None]


class Waiting:
    """Reports why a start waits: at once if the reason is certain or has changed, else every TELL_EVERY_S."""

    def __init__(self, on_wait: OnWait, now_s: float) -> None:
        self._on_wait, self._told = on_wait, ""
        self._next_s = now_s + TELL_FIRST_S

    def tell(self, sentence: str, now_s: float, *, is_sure: bool = True) -> None:
        if now_s >= self._next_s or (is_sure and sentence != self._told):
            self._told, self._next_s = sentence, now_s + TELL_EVERY_S
            self._on_wait(sentence)


class Standalone(Topology):
    """One server."""

    def __init__(self, watch: Watch, target: Target, prefix: str, copies: CopiesRequired | None = None) -> None:
        super().__init__(watch, prefix, copies)
        self._target = target
        self._link = self._make_link(watch)

    def _make_link(self, watch: Watch) -> Node:
        # A replica is accepted at the start, so that all its problems are reported; later a failover is awaited.
        return Node(watch, self._locate, self.conclude, name=self._target.seeds[0].name,
                    primary=lambda: self.admission.is_open, inspection=self.admission,
                    scripts=self.scripts,
                    open_barrier=self.open_barrier)  # fmt: skip

    async def _locate(self) -> Address:
        return self._target.seeds[0]

    def owner(self, slot: int) -> Node:
        return self._link

    def links(self) -> Sequence[Node]:
        return (self._link,)

    async def open(self, on_wait: OnWait) -> None:
        await self.first_ready([self._link], on_wait)
