"""Sharded pub/sub: a channel belongs to the slot of its name; one connection per node serves all its channels.

    SSUBSCRIBE rl:{orders:3}:wake ──▶ owner of the slot     smessage ──▶ on_message of every listener
    connection lost, or the slot or the primary moved away ──▶ on_lost at once; subscribed again ──▶ on_lost once more

Messages published between the two are lost, so a listener reads the current state both times.
Source: Redis 7 sharded pub/sub.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

from hiredis import HiredisError, Reader, ReplyError

from redis_ledger.errors import LedgerError, StoreUnavailable
from redis_ledger.store.address import Address
from redis_ledger.store.connection import dial, pack
from redis_ledger.store.node import BACKOFF_S_MAX, BACKOFF_S_MIN, Node
from redis_ledger.store.topology import Topology

_PING = b"*1\r\n$4\r\nPING\r\n"
PING_EVERY_S = 5.0  # ping interval of a silent connection
_log = logging.getLogger("redis_ledger.store")


@dataclass(eq=False, slots=True)
class _Listener:
    on_message: Callable[[bytes], None]
    on_lost: Callable[[], None]


@dataclass(eq=False, slots=True)
class _Channel:
    """heard: the server confirmed the subscription; refused: its error."""

    name: bytes
    listeners: list[_Listener] = field(default_factory=list)
    ear: _NodeSubscriber | None = None
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    refused: Exception | None = None
    was_heard: bool = False

    def tell_lost(self) -> None:
        # Through the loop, so that a listener that raises does not affect others.
        for listener in self.listeners:
            asyncio.get_running_loop().call_soon(listener.on_lost)


class _PubsubConnection(asyncio.Protocol):
    """reply: called with every reply; lost: once, when the connection is lost."""

    def __init__(self, reply: Callable[[Any], None], lost: Callable[[], None]) -> None:
        self._reply, self._lost = reply, lost
        self._reader = Reader()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def write(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not False:
                self._reply(reply)
        except HiredisError:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._lost()

    def close(self) -> None:
        if self.transport is not None:
            self.transport.abort()


class _NodeSubscriber:
    """The pub/sub connection to one node.  It is open while there are channels."""

    def __init__(self, link: Node, displaced: Callable[[_Channel], None]) -> None:
        self.link = link
        self.channels: dict[bytes, _Channel] = {}
        self._displaced = displaced
        self._wire: _PubsubConnection | None = None
        self._asked: deque[bytes] = deque()  # SSUBSCRIBEs without an answer yet
        self._greeting = 0  # replies to AUTH still to come
        self._heard = False
        self._broke = asyncio.Event()
        self._wanted = asyncio.Event()
        link.on_moved.append(self._leave)
        self._task = asyncio.get_running_loop().create_task(self._listen())

    def add(self, channel: _Channel) -> None:
        channel.ear = self
        self.channels[channel.name] = channel
        self._wanted.set()
        if self._wire is not None:
            self._ask([channel.name])

    def drop(self, channel: _Channel) -> None:
        channel.ear = None
        if self.channels.pop(channel.name, None) is not None and self._wire is not None:
            self._wire.write(cast("bytes", pack((b"SUNSUBSCRIBE", channel.name))))
        if not self.channels:
            self._wanted.clear()

    def _ask(self, names: list[bytes]) -> None:
        assert self._wire is not None
        self._asked.extend(names)
        self._wire.write(b"".join(cast("bytes", pack((b"SSUBSCRIBE", name))) for name in names))

    async def _listen(self) -> None:
        attempt = 0
        while True:
            await self._wanted.wait()
            try:
                await self._connect()
            except (OSError, ValueError, HiredisError, LedgerError) as error:
                attempt += 1
                _log.debug("listening at %s is not possible: %s", self.link.name, error)
                for channel in tuple(self.channels.values()):
                    self._displaced(channel)
            else:
                attempt = 0
                await self._until_broken()
            pause_s = min(BACKOFF_S_MAX, BACKOFF_S_MIN * 2 ** min(attempt, 16))
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))

    async def _connect(self) -> None:
        self._broke.clear()
        self._asked.clear()
        async with asyncio.timeout(5):
            address = await self.link.locate()
            wire = await dial(address, lambda: _PubsubConnection(self._take, self._lost))
        self._wire = wire
        self._greet(wire, address)
        self._ask(list(self.channels))

    def _greet(self, wire: _PubsubConnection, address: Address) -> None:
        # Not awaited: if authentication fails, SSUBSCRIBE fails for every channel.
        self._greeting = 0
        if address.password is not None:
            user = (address.username,) if address.username else ()
            self._greeting += 1
            wire.write(cast("bytes", pack((b"AUTH", *user, address.password))))

    async def _until_broken(self) -> None:
        silent = 0
        while True:
            self._heard = False
            try:
                async with asyncio.timeout(PING_EVERY_S):
                    await self._broke.wait()
                return
            except TimeoutError:
                silent = 0 if self._heard else silent + 1
            if silent and (wire := self._wire) is not None:
                if silent > 1:
                    wire.close()
                else:
                    wire.write(_PING)

    def _take(self, reply: Any) -> None:
        self._heard = True
        if self._greeting:
            self._greeting -= 1
        elif isinstance(reply, ReplyError):
            if self._asked:
                self._refused(self._asked.popleft(), reply)
        elif isinstance(reply, list) and reply:
            self._take_push(reply)

    def _take_push(self, push: list[Any]) -> None:
        kind = push[0]
        if kind == b"smessage":
            channel = self.channels.get(push[1])
            for listener in channel.listeners if channel is not None else ():
                asyncio.get_running_loop().call_soon(listener.on_message, push[2])
        elif kind == b"ssubscribe":
            if self._asked and self._asked[0] == push[1]:
                self._asked.popleft()
            if (channel := self.channels.get(push[1])) is not None:
                again, channel.was_heard = channel.was_heard, True
                channel.heard.set()
                if again:
                    channel.tell_lost()
        elif kind == b"sunsubscribe" and (channel := self.channels.get(push[1])) is not None and channel.heard.is_set():
            # Not requested by this side: the slot has moved away.
            self._lose(channel)
            self._displaced(channel)

    def _refused(self, name: bytes, error: ReplyError) -> None:
        channel = self.channels.get(name)
        if channel is None:
            return
        if str(error).startswith(("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN")):
            self._displaced(channel)
        else:
            channel.refused = error
            channel.heard.set()

    def _lose(self, channel: _Channel) -> None:
        if channel.heard.is_set() and channel.refused is None:
            channel.heard.clear()
            channel.tell_lost()

    def _lost(self) -> None:
        self._wire = None
        self._broke.set()
        for channel in tuple(self.channels.values()):
            self._lose(channel)

    def _leave(self) -> None:
        """After a failover the old primary may go on, as a replica that passes messages on late or never."""
        if self._wire is not None:
            self._wire.close()

    async def close(self) -> None:
        self.link.on_moved.remove(self._leave)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self.channels.clear()
        if self._wire is not None:
            self._wire.close()


class Pubsub:
    """All channels of one store."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._channels: dict[bytes, _Channel] = {}
        self._ears: dict[Node, _NodeSubscriber] = {}
        self._moving: set[asyncio.Task[None]] = set()

    async def subscribe(
        self, name: bytes, on_message: Callable[[bytes], None], on_lost: Callable[[], None]
    ) -> Callable[[], None]:
        listener = _Listener(on_message, on_lost)
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = _Channel(name)
            self._place(channel)
        channel.listeners.append(listener)

        def unsubscribe() -> None:
            self._remove(channel, listener)

        try:
            async with asyncio.timeout(self._topology.watch.retry_ms / 1000):
                await channel.heard.wait()
        except TimeoutError:
            unsubscribe()
            raise StoreUnavailable(f"Redis does not confirm the subscription to {name!r}.") from None
        except BaseException:
            unsubscribe()
            raise
        if channel.refused is not None:
            unsubscribe()
            raise channel.refused
        return unsubscribe

    def _remove(self, channel: _Channel, listener: _Listener) -> None:
        if listener in channel.listeners:
            channel.listeners.remove(listener)
        if not channel.listeners and self._channels.get(channel.name) is channel:
            del self._channels[channel.name]
            if channel.ear is not None:
                channel.ear.drop(channel)

    def _place(self, channel: _Channel) -> None:
        link = self._topology.owner(self._topology.slot(channel.name))
        ear = self._ears.get(link)
        if ear is None:
            ear = self._ears[link] = _NodeSubscriber(link, self._displace)
        ear.add(channel)
        for other in set(self._ears) - set(self._topology.links()):  # nodes that left the cluster
            self._later(self._ears.pop(other).close())

    def _displace(self, channel: _Channel) -> None:
        """Moves a channel that the node does not serve any more to its new node."""
        if channel.ear is not None:
            channel.ear.drop(channel)
        self._later(self._replace(channel))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._moving.add(task)
        task.add_done_callback(self._moved)

    def _moved(self, task: asyncio.Task[None]) -> None:
        self._moving.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a subscription could not be moved to another node", exc_info=error)

    async def _replace(self, channel: _Channel) -> None:
        await self._topology.learn()
        if self._channels.get(channel.name) is channel and channel.ear is None:
            self._place(channel)

    async def close(self) -> None:
        for task in tuple(self._moving):
            task.cancel()
        await asyncio.gather(*(ear.close() for ear in self._ears.values()), *self._moving, return_exceptions=True)
        self._channels.clear()
