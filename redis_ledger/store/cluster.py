"""A Redis Cluster: the owner of each slot, and changes of owners.

    key ─▶ text between { and }, or all of it ─▶ CRC16 mod 16 384 ─▶ owners[slot] ─▶ link of that primary

The map comes from CLUSTER SLOTS.  It is read again, by one task at a time, when a node replies MOVED or CLUSTERDOWN, or
cannot be reached.  When a slot changes its owner, a gate first collects its calls in flight, so their order is kept;
calls that wait for a node that lost its slots go to the new owner.  Source: Redis Cluster specification.
"""

from __future__ import annotations

import asyncio
import logging
from binascii import crc_hqx
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hiredis import ReplyError

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.address import Address, Target
from redis_ledger.store.connection import RedisCall, ask_once
from redis_ledger.store.connection_errors import Unreachable, explain
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.keys import replication_marker
from redis_ledger.store.node import Node
from redis_ledger.store.slot_retry import SlotRetry
from redis_ledger.store.topology import OnWait, Topology, Waiting, gate_of
from redis_ledger.store.watch import Watch

SLOTS = 16_384
REFRESH_PAUSE_S = 0.1  # least time between two reads of the map
_log = logging.getLogger("redis_ledger.store")
_KEYS_CACHED_MAX = 100_000
MARKERS_TRIED_MAX = 65_536  # keys, until one is in a slot of the node; 3 on average with three nodes


def key_slot(key: bytes) -> int:
    opened = key.find(b"{")
    if opened >= 0:
        closed = key.find(b"}", opened + 1)
        if closed > opened + 1:
            key = key[opened + 1 : closed]
    return crc_hqx(key, 0) % SLOTS


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("the map of the Redis cluster could not be read", exc_info=error)


class Cluster(Topology):
    has_slots = True

    def __init__(self, watch: Watch, target: Target, prefix: str, copies: CopiesRequired | None = None) -> None:
        super().__init__(watch, prefix, copies)
        self._seeds = target.seeds
        self._like = target.seeds[0]  # credentials and TLS of every node
        self._nodes: dict[str, Node] = {}
        self._owners: list[Node | None] = [None] * SLOTS
        self._slots: dict[bytes, int] = {}
        self._next_read: asyncio.Task[None] | None = None  # of the map; it has not begun
        self._reads: set[asyncio.Task[None]] = set()
        self._reading = asyncio.Lock()
        self._why = Unreachable("no node answered")
        self._closing: set[asyncio.Task[None]] = set()
        self._has_leaving = False  # nodes without slots that have calls in flight or waiting

    def slot(self, key: bytes) -> int:
        slot = self._slots.get(key)
        if slot is None:
            if len(self._slots) >= _KEYS_CACHED_MAX:
                self._slots.clear()
            slot = self._slots[key] = key_slot(key)
        return slot

    def owner(self, slot: int) -> Node:
        """Returns the known owner; for a slot without one any node, whose reply names the owner."""
        link = self._owners[slot] if slot >= 0 else None
        return link or next((link for link in self._nodes.values() if link.conn), next(iter(self._nodes.values())))

    def marker_key(self, link: Node) -> Callable[[int], bytes]:
        number = last = 0

        def key(attempt: int) -> bytes:
            """Returns a key in a slot that the node owns; in another slot for a new attempt."""
            nonlocal number, last
            number, last = number + (attempt != last), attempt
            for _ in range(MARKERS_TRIED_MAX):
                found = replication_marker(self.prefix, number)
                if self._owners[key_slot(found)] is link:
                    return found
                number += 1
            return replication_marker(self.prefix, number)  # Redis replies that the slot is elsewhere

        return key

    def links(self) -> Sequence[Node]:
        return tuple(self._nodes.values())

    async def open(self, on_wait: OnWait) -> None:
        waiting = Waiting(on_wait, self.loop.time())
        until = self.loop.time() + self.watch.retry_ms / 1000
        while not await self._read_map():
            if self.loop.time() >= until or self._why.is_final:
                raise StoreUnavailable(f"the Redis cluster cannot be used: {self._why}")
            waiting.tell(f"waiting for the Redis cluster: {self._why.reason}", self.loop.time())
            await asyncio.sleep(REFRESH_PAUSE_S)
        await self.first_ready(self.links(), on_wait)

    async def close(self) -> None:
        for read in self._reads:
            read.cancel()
        await super().close()
        await asyncio.gather(*self._closing)

    def at(self, host: str, port: int, asked: Node) -> Node:
        host = host or (asked.address or self._like).host
        return self._node(self._like.at(host, port))

    def moved(self, slot: int, host: str, port: int, asked: Node) -> None:
        owner = self.at(host, port, asked)
        if owner is not self._owners[slot]:
            self._owners[slot] = owner
            self.admission.doubt(owner)
        self.refresh()

    def stale(self, link: Node, why: str) -> None:
        self.refresh()

    async def learn(self) -> None:
        await asyncio.shield(self.refresh())

    def refresh(self) -> asyncio.Task[None]:
        """Reads the map again soon.  Callers share one read until it begins: a read that has begun may miss what they
        know."""
        if self._next_read is None:
            self._next_read = read = self.loop.create_task(self._refresh())
            self._reads.add(read)
            read.add_done_callback(self._reads.discard)
            read.add_done_callback(_log_failure)
        return self._next_read

    async def _refresh(self) -> None:
        async with self._reading:
            self._next_read = None
            await self._read_map()
            await asyncio.sleep(REFRESH_PAUSE_S)

    async def _read_map(self) -> bool:
        known = [link.address for link in self._nodes.values() if link.address is not None and link.conn is not None]
        for address in dict.fromkeys((*known, *self._seeds)):
            try:
                answer = await ask_once(address, (b"CLUSTER", b"SLOTS"), timeout_s=1.0)
            except OSError as error:
                refused = error.__cause__ if isinstance(error.__cause__, ReplyError) else error
                why = explain(refused, address)
                self._why = why._replace(reason=f"{address.name}: {why.reason}")
                continue
            ranges = list(self._ranges(answer, address))
            if ranges:
                self._take_map(ranges)
                return True
            self._why = Unreachable(f"{address.name} knows no slots", "Finish the cluster with redis-cli --cluster.")
        self._reroute()
        return False

    def _ranges(self, answer: Any, asked: Address) -> Iterable[tuple[int, int, Address]]:
        for first, last, primary, *_replicas in answer:
            host = primary[0].decode() if primary[0] else ""
            # "?" and an empty host both mean the host of this connection.
            yield first, last, asked.at(host if host not in ("", "?") else asked.host, primary[1])

    def _node(self, address: Address) -> Node:
        link = self._nodes.get(address.name)
        if link is None:

            async def locate() -> Address:
                return address

            link = Node(self.watch, locate, self.conclude, self._down, name=address.name,
                        primary=lambda: False, inspection=self.admission,
                            scripts=self.scripts, open_barrier=self.open_barrier)  # fmt: skip
            self._nodes[address.name] = link
        return link

    def _down(self, link: Node) -> None:
        if not self.closed and self._nodes:
            self.refresh()

    def _take_map(self, ranges: list[tuple[int, int, Address]]) -> None:
        before = self._owners
        owners: list[Node | None] = [None] * SLOTS
        self._owners = owners
        for first, last, address in ranges:
            owners[first : last + 1] = [self._node(address)] * (last + 1 - first)
        for link in tuple(self._nodes.values()):
            for call in link.under_way():
                slot = call.slot
                place = gate_of(call)
                if slot >= 0 and before[slot] is link and owners[slot] is not link and place not in self.gates:
                    self.gates[place] = SlotRetry(self, slot, place, link)
        for link in {new for old, new in zip(before, owners, strict=True) if new is not old and new and old}:
            self.admission.doubt(link)
        self._reroute()
        self._retire(set(filter(None, owners)))

    def _reroute(self) -> None:
        """Sends calls that wait for a failed node to the current owner of their slot."""
        for link in self.links():
            if link.conn is not None:
                continue
            for call in link.strand():
                if call.slot >= 0 and (owner := self.owner(call.slot)) is not link:
                    self._move(call, link, owner)
                else:
                    link.send(call)

    def _move(self, call: RedisCall, link: Node, owner: Node) -> None:
        link.leave(call)
        gate = self.gates.get(gate_of(call))
        if gate is not None:
            gate.strand(call)
        else:
            owner.send(call)

    def _look(self) -> None:
        super()._look()
        if self._has_leaving and not self.closed:
            self._reroute()
            self._retire(set(filter(None, self._owners)))

    def _retire(self, owners: set[Node]) -> None:
        """Closes nodes that own no slots any more, after their calls in flight.  A node that remains would be reported
        as unfit: the old primary of a failover comes back as a replica."""
        self._has_leaving = False
        for name, link in tuple(self._nodes.items()):
            busy = link.waiting or (link.conn is not None and link.conn.queue)
            if link not in owners and busy:
                self._has_leaving = True
            elif link not in owners:
                del self._nodes[name]
                task = self.loop.create_task(link.close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
