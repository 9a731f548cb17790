"""The only access to Redis: sends scripts and commands pipelined, and receives replies in order.

    store.call(script, keys, args) ──▶ a future at once; calls of one event-loop tick are one write per node

A call returns a future and no coroutine; the caller awaits one or many together.  Calls with the same routing key are
executed in the order in which they were issued, also through reconnects and slot migrations; only calls that were in
flight when Redis refused a call may overtake it (slot_retry.py).  A call without `retry` is never sent again after
Redis may have received it: it fails with OutcomeUnknown instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

from hiredis import ReplyError

from redis_ledger.store.address import Target, parse_url
from redis_ledger.store.cluster import Cluster
from redis_ledger.store.connection import ALONE, Arg, Frame, RedisCall, concat, pack, pack_small
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.group_commit import Turnstile
from redis_ledger.store.pauses import Pause
from redis_ledger.store.pubsub import Pubsub
from redis_ledger.store.script_calls import LIST, load_missing, names_of
from redis_ledger.store.scripts import Script
from redis_ledger.store.sentinel import Sentinel
from redis_ledger.store.server_info import QUESTIONS, NodeInfo, read_node
from redis_ledger.store.topology import ANY, ScriptMissing, Standalone, Topology
from redis_ledger.store.watch import Watch

__all__ = ["NodeInfo", "Packed", "ReplyError", "Script", "ScriptCall", "ScriptMissing", "Store"]

_TOPOLOGIES: dict[str, Callable[[Watch, Target, str, CopiesRequired | None], Topology]] = {
    "single": Standalone,
    "sentinel": Sentinel,
    "cluster": Cluster,
}
WRITE_ALLOW_OOM = Script.load("broker/write_allow_oom")
MULTI, EXEC = pack((b"MULTI",)), pack((b"EXEC",))


class ScriptCall(NamedTuple):
    """A script as a command of Store.multi.  Its arguments are small: payload is in plain commands beside it."""

    script: Script
    keys: Sequence[bytes]
    args: Sequence[Arg] = ()


class Packed(NamedTuple):
    """Many small commands for Store.multi, already encoded, for thousands of the same shape."""

    frame: bytes
    commands: int


class Store:
    """prefix: first part of every key of this store."""

    def __init__(self, topology: Topology, prefix: str) -> None:
        """Use Store.open."""
        self.prefix = prefix
        self.topology = topology
        self.admission = topology.admission
        self._create_future = topology.loop.create_future
        self._slot = topology.slot
        self._send = topology.send
        self._command = topology.scripts.command
        self._pubsub = Pubsub(topology)
        self._copies: dict[bytes, int] = {}  # required by topics, if more than by the broker; by hash tag

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        prefix: str = "rl",
        timeout_ms: int = 10_000,
        retry_ms: int = 5_000,
        copies: CopiesRequired | None = None,
        on_wait: Callable[[str], None] = lambda sentence: None,
    ) -> Store:
        """Connects and loads every script.

        timeout_ms  longest one call may take
        retry_ms    how long a call waits for Redis to return, and a call with retry is repeated
        copies      required of a call's effect before it is answered (durability `replicas`); None: only the primary's
        on_wait     gets a sentence on the reason of a long wait
        Raises ValueError for an invalid URL, StoreUnavailable if Redis cannot be reached, ScriptBroken if scripts are
        incomplete.
        """
        target = parse_url(url)
        Script.all()  # fails here if a script is broken
        topology = _TOPOLOGIES[target.kind](Watch(timeout_ms, retry_ms), target, prefix, copies)
        try:
            await topology.open(on_wait)
            await topology.admission.look()  # on a cluster, the reply of one node decides what another must have
            topology.admission.open()
        except BaseException:
            await topology.close()
            raise
        return cls(topology, prefix)

    async def close(self) -> None:
        """Fails calls in flight.  Does not wait for Redis."""
        await self._pubsub.close()
        await self.topology.close()

    @property
    def primaries(self) -> int:
        """The number of primaries."""
        return len(self.topology.links())

    def pause(self, key: bytes) -> Pause | None:
        """The last outage of Redis that this store observed."""
        return self.topology.watch.pauses.last(self.topology.owner(self._slot(key)))

    def turnstile(self, key: bytes) -> Turnstile:
        """Limits the group commits in flight to the node of key."""
        return self.topology.owner(self._slot(key)).turnstile

    def writes_at_once(self, key: bytes) -> bool:
        """Whether a write to the node of key is sent now, and not refused or kept until there is a connection."""
        return self.topology.owner(self._slot(key)).writes_at_once

    def call(
        self, script: Script, keys: Sequence[bytes], args: Sequence[Arg], *, retry: bool = True
    ) -> asyncio.Future[Any]:
        """Calls a script on the node of keys[0].  retry: the script is idempotent.

        Redis does not execute it after timeout_ms, when the caller has been told that it failed.
        """
        future = self._create_future()
        slot = self._slot(keys[0])
        if script.is_timed:
            args = (*args, self.topology.owner(slot).time.deadline())
        call = RedisCall(future, pack_small(self._command(script, keys, args)), slot, retry)
        if script.names_absent:
            call.apart = True
        if self._copies:
            tags = keys if script.spans_slots else keys[:1]
            call.in_sync = max(map(self._copies_of, tags))
        self._send(slot, call)
        return future

    def command(self, *args: Arg, key: bytes | None = None, retry: bool = True) -> asyncio.Future[Any]:
        """One command on the node of key; None: any node, without waiting for replicas, since it concerns no data."""
        future = self._create_future()
        slot = ANY if key is None else self._slot(key)
        call = RedisCall(future, pack(args), slot, retry)
        if key is None:
            call.in_sync = ALONE
        elif self._copies:
            call.in_sync = self._copies_of(key)
        self._send(slot, call)
        return future

    def write_allow_oom(self, command: str, key: bytes, *args: Arg, retry: bool = True) -> asyncio.Future[Any]:
        """One small write that Redis executes at maxmemory too, but not after timeout_ms; never payload.  Not for
        `multi`, of which Redis then refuses every command."""
        return self.call(WRITE_ALLOW_OOM, (key,), (command, *args), retry=retry)

    def multi(
        self, key: bytes, commands: Sequence[tuple[Any, ...] | ScriptCall | Packed], *, retry: bool = False,
        awaits_replicas: bool = True,
    ) -> asyncio.Future[list[Any]]:  # fmt: skip
        """MULTI, the commands and EXEC as one unit on the node of key; the future is EXEC's list.

        awaits_replicas: False: at durability `replicas`, the reply does not wait for replicas.
        An element may be a ReplyError instance: that command failed, the others took effect.
        Raises ScriptMissing if a script was not loaded; it is loaded then.
        """
        future = self._create_future()
        slot = self._slot(key)
        frames: list[Frame] = [MULTI]
        more = 0
        for command in commands:
            if isinstance(command, ScriptCall):
                frames.append(pack_small(self._command(*command)))
            elif isinstance(command, Packed):
                frames.append(command.frame)
                more += command.commands - 1
            else:
                frames.append(pack(command))
        frames.append(EXEC)
        call = RedisCall(future, concat(frames), slot, retry)
        call.expect(len(frames) + more)
        if not awaits_replicas:
            call.in_sync = ALONE
        elif self._copies:
            call.in_sync = self._copies_of(key)
        self._send(slot, call)
        return future

    def require_copies(self, key: bytes, copies: int) -> None:
        """Sets the copies, the primary's included, required before calls on keys with this hash tag are answered; at
        least those of the store.  Without effect unless the store was opened with `copies`."""
        required = self.topology.copies
        if required is not None and copies > required.min_insync:
            self._copies[_hash_tag(key)] = copies
        elif self._copies:
            self._copies.pop(_hash_tag(key), None)

    def requires_more_copies(self, key: bytes) -> bool:
        """Whether calls on keys with this hash tag wait for more copies than others."""
        return self._copies_of(key) > 0

    def _copies_of(self, key: bytes) -> int:
        return self._copies.get(_hash_tag(key), 0)

    async def subscribe(
        self, channel: bytes, on_message: Callable[[bytes], None], on_lost: Callable[[], None]
    ) -> Callable[[], None]:
        """SSUBSCRIBE; returns when it is in effect, with the function to end it.

        on_lost: messages may have been missed; called when the subscription breaks, and again when it is back.
        Raises StoreUnavailable if Redis does not confirm within retry_ms.
        """
        return await self._pubsub.subscribe(channel, on_message, on_lost)

    async def everywhere(self, *args: Arg) -> list[Any]:
        """The reply of every primary to one command; a ReplyError is an element, not raised."""
        futures = []
        for link in self.topology.links():
            futures.append(future := self._create_future())
            call = RedisCall(future, pack(args), ANY, True)
            call.in_sync = ALONE
            link.send(call)
        replies = await asyncio.gather(*futures, return_exceptions=True)
        for reply in replies:
            if isinstance(reply, BaseException) and not isinstance(reply, ReplyError):
                raise reply
        return replies

    async def libraries(self) -> set[bytes]:
        """Names of the function libraries of any release, on any primary."""
        return set().union(*map(names_of, await self.everywhere(*LIST)))

    async def load_libraries(self) -> None:
        """Loads libraries again on nodes that have refused them."""
        scripts = self.topology.scripts
        for link in self.topology.links():
            if link in scripts.refusals:
                scripts.note(link, link.name, await load_missing(link.ask))

    async def scan(self, pattern: str, count: int = 1_000) -> AsyncIterator[list[bytes]]:
        """The keys of every primary that match the pattern, in pages; a key that moves may come twice, or not."""
        for link in self.topology.links():
            cursor: bytes = b"0"
            while True:
                future = self._create_future()
                frame = pack((b"SCAN", cursor, b"MATCH", pattern, b"COUNT", count))
                link.send(RedisCall(future, frame, ANY, True))
                cursor, keys = await future
                if keys:
                    yield keys
                if cursor == b"0":
                    break

    async def node_info(self) -> list[NodeInfo]:
        """Every primary, in no particular order."""
        names = [link.name for link in self.topology.links()]
        replies = await asyncio.gather(*(self.everywhere(*question) for question in QUESTIONS))
        return [read_node(name, replies_of_node) for name, *replies_of_node in zip(names, *replies, strict=True)]


def _hash_tag(key: bytes) -> bytes:
    return key[key.find(b"{") : key.find(b"}")]
