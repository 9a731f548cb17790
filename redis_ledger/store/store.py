"""The only door to Redis: scripts and commands go out pipelined, replies come back in order.

    store.call(script, keys, args) ──▶ a future at once; everything of one event-loop tick leaves in one write per node

Nothing here is a coroutine per call: a future is returned and the caller awaits it, or many of them together.  Calls
with the same routing key are carried out in the order they were issued, through reconnects and moving slots too; only
what was in flight already when Redis refused a call may overtake it (slot_retry.py).  A call without `retry` is never
written again after Redis may have seen it: it fails with OutcomeUnknown instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hiredis import ReplyError

from redis_ledger.store.address import Target, parse_url
from redis_ledger.store.cluster import Cluster
from redis_ledger.store.connection import Arg, Frame, RedisCall, concat, pack, pack_small
from redis_ledger.store.group_commit import Turnstile
from redis_ledger.store.node import Node, Watch
from redis_ledger.store.pauses import Pause
from redis_ledger.store.pubsub import Pubsub
from redis_ledger.store.scripts import Script
from redis_ledger.store.sentinel import Sentinel
from redis_ledger.store.server_info import QUESTIONS, NodeInfo, read_node
from redis_ledger.store.topology import ANY, ScriptMissing, Standalone, Topology

__all__ = ["NodeInfo", "Packed", "ReplyError", "Script", "ScriptCall", "ScriptMissing", "Store"]

_TOPOLOGIES: dict[str, Callable[[Watch, Target, str], Topology]] = {
    "single": Standalone,
    "sentinel": Sentinel,
    "cluster": Cluster,
}
WRITE_ALLOW_OOM = Script.load("broker/write_allow_oom")
MULTI, EXEC = pack((b"MULTI",)), pack((b"EXEC",))


class ScriptCall(NamedTuple):
    """A script as a command of Store.multi."""

    script: Script
    keys: Sequence[bytes]
    args: Sequence[Arg] = ()


class Packed(NamedTuple):
    """Many small commands for Store.multi, as Redis reads them: for those who have thousands of one shape."""

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
        self._pubsub = Pubsub(topology)
        self._waits: dict[tuple[int | Node, tuple[Arg, ...]], asyncio.Future[Any]] = {}

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        prefix: str = "rl",
        timeout_ms: int = 10_000,
        retry_ms: int = 5_000,
        on_wait: Callable[[str], None] = lambda sentence: None,
    ) -> Store:
        """Connects and loads every script.

        timeout_ms  longest one call may take
        retry_ms    how long a call waits for Redis to come back, and a call with retry is repeated
        on_wait     gets a sentence whenever there is something to say about why this takes long
        Raises ValueError for a URL that cannot be understood, StoreUnavailable if Redis is not there, ScriptBroken
        if the scripts are not whole.
        """
        target = parse_url(url)
        Script.all()  # fails here if a script is broken
        topology = _TOPOLOGIES[target.kind](Watch(timeout_ms, retry_ms), target, prefix)
        try:
            await topology.open(on_wait)
            await topology.admission.look()  # of a cluster, what one node tells decides what another has to hold
            topology.admission.open()
        except BaseException:
            await topology.close()
            raise
        return cls(topology, prefix)

    async def close(self) -> None:
        """Calls still under way fail.  Cost: does not wait for Redis."""
        await self._pubsub.close()
        await self.topology.close()

    @property
    def primaries(self) -> int:
        """How many nodes share the slots."""
        return len(self.topology.links())

    def pause(self, key: bytes) -> Pause | None:
        """The last time that Redis did not answer, as this store has seen it."""
        return self.topology.watch.pauses.last(self.topology.owner(self._slot(key)))

    def turnstile(self, key: bytes) -> Turnstile:
        """Limits the group commits in flight to the node of key."""
        return self.topology.owner(self._slot(key)).turnstile

    def call(
        self, script: Script, keys: Sequence[bytes], args: Sequence[Arg], *, retry: bool = True
    ) -> asyncio.Future[Any]:
        """EVALSHA on the node of keys[0].  retry: running it twice is the same as once."""
        future = self._create_future()
        slot = self._slot(keys[0])
        call = RedisCall(future, pack_small((b"EVALSHA", script.sha, len(keys), *keys, *args)), slot, retry)
        if script.names_absent:
            call.apart = True
        self._send(slot, call)
        return future

    def command(self, *args: Arg, key: bytes | None = None, retry: bool = True) -> asyncio.Future[Any]:
        """One command on the node of key; None: any node."""
        future = self._create_future()
        slot = ANY if key is None else self._slot(key)
        self._send(slot, RedisCall(future, pack(args), slot, retry))
        return future

    def write_allow_oom(self, command: str, key: bytes, *args: Arg, retry: bool = True) -> asyncio.Future[Any]:
        """One small write that Redis carries out at its maxmemory too: never payload.  Not for `multi`, of which a full
        Redis refuses every command."""
        return self.call(WRITE_ALLOW_OOM, (key,), (command, *args), retry=retry)

    def multi(
        self, key: bytes, commands: Sequence[tuple[Any, ...] | ScriptCall | Packed], *, retry: bool = False
    ) -> asyncio.Future[list[Any]]:
        """MULTI, the commands and EXEC as one unit on the node of key; the future is EXEC's list.

        An element may be a ReplyError instance: that command failed, the others stand.
        Raises ScriptMissing if one of the scripts was not known; it has been loaded by then.
        """
        future = self._create_future()
        slot = self._slot(key)
        frames: list[Frame] = [MULTI]
        more = 0
        for command in commands:
            if isinstance(command, ScriptCall):
                frames.append(_evalsha(command))
            elif isinstance(command, Packed):
                frames.append(command.frame)
                more += command.commands - 1
            else:
                frames.append(pack(command))
        frames.append(EXEC)
        call = RedisCall(future, concat(frames), slot, retry)
        call.expect(len(frames) + more)
        self._send(slot, call)
        return future

    async def subscribe(
        self, channel: bytes, on_message: Callable[[bytes], None], on_lost: Callable[[], None]
    ) -> Callable[[], None]:
        """SSUBSCRIBE; returns once it is in force, with the order to end it.

        on_lost: messages may have been missed; called when the subscription breaks, and again when it is back.
        Raises StoreUnavailable if Redis does not confirm within retry_ms.
        """
        return await self._pubsub.subscribe(channel, on_message, on_lost)

    def wait(self, key: bytes, replicas: int, timeout_ms: int) -> asyncio.Future[int]:
        """WAIT for everything issued before on the node of key: how many replicas have it, perhaps fewer than asked.

        Calls of one tick share one WAIT at the end of the batch.  Nothing behind it is carried out until it returns, so
        timeout_ms should be small against the store's.  Raises OutcomeUnknown if the connection broke: a new connection
        knows nothing of writes made on the old one.
        """
        return self._wait(key, (b"WAIT", replicas, timeout_ms))

    def wait_disk(self, key: bytes, replicas: int, timeout_ms: int) -> asyncio.Future[list[int]]:
        """WAITAOF (Redis 7.2, Valkey): [1 if this server has synced it, how many replicas have]; else as `wait`."""
        return self._wait(key, (b"WAITAOF", 1, replicas, timeout_ms))

    def _wait(self, key: bytes, command: tuple[Arg, ...]) -> asyncio.Future[Any]:
        slot = self._slot(key)
        where = slot if slot in self.topology.gates else self.topology.owner(slot)
        shared = self._waits.get((where, command))
        if shared is None:
            shared = self._waits[where, command] = self._create_future()
            self.topology.loop.call_soon(self._send_wait, where, command, slot, shared)
        mine = self._create_future()
        shared.add_done_callback(lambda _: _pass_on(shared, mine))
        return mine

    def _send_wait(self, where: int | Node, command: tuple[Arg, ...], slot: int, shared: asyncio.Future[Any]) -> None:
        del self._waits[where, command]
        self._send(slot, RedisCall(shared, pack(command), slot, False))

    async def everywhere(self, *args: Arg) -> list[Any]:
        """The reply of every primary to one command; a ReplyError is an element, not raised."""
        futures = []
        for link in self.topology.links():
            futures.append(future := self._create_future())
            link.send(RedisCall(future, pack(args), ANY, True))
        replies = await asyncio.gather(*futures, return_exceptions=True)
        for reply in replies:
            if isinstance(reply, BaseException) and not isinstance(reply, ReplyError):
                raise reply
        return replies

    async def node_info(self) -> list[NodeInfo]:
        """Every primary, in no particular order."""
        names = [link.name for link in self.topology.links()]
        replies = await asyncio.gather(*(self.everywhere(*question) for question in QUESTIONS))
        return [read_node(name, replies_of_node) for name, *replies_of_node in zip(names, *replies, strict=True)]


def _pass_on(shared: asyncio.Future[Any], mine: asyncio.Future[Any]) -> None:
    error = shared.exception()
    if mine.done():
        return
    if error is not None:
        mine.set_exception(error)
        mine.exception()  # as in Call.fail
    else:
        mine.set_result(shared.result())


def _evalsha(call: ScriptCall) -> Frame:
    return pack((b"EVALSHA", call.script.sha, len(call.keys), *call.keys, *call.args))
