"""Waits for a partition to change, without polling Redis.

    subscribe  ─▶  read state  ─▶  no records  ─▶  sleep  ─▶  woken: read again

Every append and every end publishes (leader epoch, end, stable offset) on the partition's channel, from inside the
script, so a reader that subscribes before it reads cannot miss a change.  A reader of committed records is not woken
while only the end moves: waiting behind an open transaction costs nothing.  A lost connection wakes all readers.
A pipelined state check once a second is the safety net: it reads the CHECKED_MAX partitions with waiting readers that
were checked longest ago.  Changes that only this check finds are counted; the count is normally 0.

    subscribed  ─▶  a reader reads the state  ─▶  its head is cached  ─▶  updated by messages  ─▶  lost: dropped

A reader whose partition has not changed therefore need not read the state (`head`).  Trimming is not published: the
log start of a cached head is that of the last read or check, so readers of records use it for a second only
(`fresh_head`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from redis_ledger.errors import LedgerError
from redis_ledger.ledger.partition_offsets import PartitionHead
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store

LOOK_AGAIN = b"look again"  # messages were returned to a subscription, or its consumer has left: no offset has moved
CHECK_S = 1.0
FRESH_S = 1.0
CHECKED_MAX = 32  # channels read by one check
LINGER_S = 30.0  # a channel without listeners is unsubscribed after this long


class Listener:
    """The changes of some partitions, for one reader.  committed None: only that messages were returned, or a consumer
    has left."""

    def __init__(self, committed: bool | None) -> None:
        self._committed = committed
        self._woken = asyncio.Event()
        self._closed = False
        self._changed: set[bytes] = set()

    def notify(self, channel: bytes, end: int, stable: int, last_end: int, last_stable: int) -> None:
        if self._committed is not None and ((stable > last_stable) if self._committed else (end > last_end)):
            self.wake(channel)

    def wake(self, channel: bytes) -> None:
        self._changed.add(channel)
        self._woken.set()

    def take_changed(self) -> set[bytes]:
        """The channels (`wake` of a partition's keys) that have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def close(self) -> None:
        self._closed = True
        self._woken.set()

    @property
    def is_closed(self) -> bool:
        """True when the broker is closing: stop waiting."""
        return self._closed

    async def wait(self, seconds: float) -> bool:
        """True if a partition changed since the last wait; False after `seconds`, or when the broker is closing."""
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await self._woken.wait()
        except TimeoutError:
            return False
        if self._closed:
            return False
        self._woken.clear()
        return True


class _Channel:
    """A subscription to one partition.

    end, stable: as last published, -1 before that.  head: None while unknown; read_s: when its log start was read.
    losses: how often messages may have been lost.
    """

    def __init__(self, keys: PartitionKeys) -> None:
        self.keys = keys
        self.listeners: set[Listener] = set()
        self.end, self.stable = -1, -1
        self.head: PartitionHead | None = None
        self.losses = 0
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.leave: Callable[[], None] | None = None
        self.idle_since = self.checked_s = self.read_s = 0.0

    def on_message(self, message: bytes) -> None:
        if message == LOOK_AGAIN:
            self.wake()
            return
        epoch, end, stable = map(int, message.split())
        self.moved(epoch, end, stable)

    def moved(self, epoch: int, end: int, stable: int) -> None:
        last_end, last_stable, head = self.end, self.stable, self.head
        if end < last_end:  # the topic was created again, or a state check came before this message: wake all
            self.end, self.stable = end, stable
            self.on_lost()
            return
        self.end, self.stable = end, max(stable, last_stable)
        if head is not None:
            is_later = end >= head.end_offset and self.stable >= head.stable_offset and epoch == head.leader_epoch
            self.head = head._replace(end_offset=end, stable_offset=self.stable) if is_later else None
        for listener in list(self.listeners):
            listener.notify(self.keys.wake, end, stable, last_end, last_stable)

    def first_checked(self, end: int, stable: int) -> None:
        """Before the first message, what readers have read is unknown: wakes them once."""
        self.end, self.stable, head = end, stable, self.head
        if head is not None and (head.end_offset, head.stable_offset) == (end, stable):
            self.wake()
        else:
            self.on_lost()

    def on_lost(self) -> None:
        self.head = None
        self.losses += 1
        self.wake()

    def wake(self) -> None:
        for listener in list(self.listeners):
            listener.wake(self.keys.wake)

    def learn(self, head: PartitionHead, now_s: float) -> None:
        if head.end_offset >= self.end and head.stable_offset >= self.stable:
            self.head, self.read_s = head, now_s


class Mark(NamedTuple):
    """A point in time of a subscription, for `learn`."""

    channel: _Channel
    losses: int


class Waiters:
    """All listeners of one broker.  `missed` counts changes that only the state check found."""

    def __init__(self, store: Store) -> None:
        self._store, self._awaits_replicas = store, store.topology.copies is not None
        self._channels: dict[bytes, _Channel] = {}
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._watch())
        self.missed = 0

    @asynccontextmanager
    async def listen(self, partitions: Sequence[PartitionKeys], *, committed: bool | None) -> AsyncIterator[Listener]:
        """A listener for every change from now on.  Read the state after entering this context."""
        now = self._loop.time()
        channels = []
        for keys in partitions:
            channel = self._channels.get(keys.wake)
            if channel is None or channel.leave is None:  # not subscribed yet
                channels = list(await asyncio.gather(*(self._channel(keys) for keys in partitions)))
                break
            channel.idle_since = now
            channels.append(channel)
        listener = Listener(committed)
        for channel in channels:
            channel.listeners.add(listener)
        try:
            yield listener
        finally:
            for channel in channels:
                channel.listeners.discard(listener)
                channel.idle_since = self._loop.time()

    def head(self, keys: PartitionKeys) -> PartitionHead | None:
        """The partition's cached head, if there is one; its log start may be old."""
        channel = self._channels.get(keys.wake)
        return None if channel is None else channel.head

    def fresh_head(self, mark: Mark) -> PartitionHead | None:
        """The cached head if its log start was read in the last second.  None at durability `replicas`: a message comes
        before the replicas have what it tells."""
        channel = mark.channel
        is_usable = self._loop.time() - channel.read_s <= FRESH_S and not self._awaits_replicas
        return channel.head if is_usable else None

    def mark(self, keys: PartitionKeys) -> Mark | None:
        """Call it before reading the state that is passed to `learn`.  None if the channel is not subscribed."""
        channel = self._channels.get(keys.wake)
        return None if channel is None or channel.leave is None else Mark(channel, channel.losses)

    def learn(self, mark: Mark | None, head: PartitionHead) -> None:
        """Caches a head that was read after the mark was taken."""
        if mark is not None and mark.losses == mark.channel.losses:
            mark.channel.learn(head, self._loop.time())

    def follow(self, keys: PartitionKeys) -> None:
        """Subscribes, in the background, to a partition that is read on and on: then its head is known."""
        channel = self._channels.get(keys.wake) or self._open(keys)
        channel.idle_since = self._loop.time()

    async def poke(self, keys: PartitionKeys) -> None:
        """Wakes the waiting readers of every broker: messages were returned to a subscription, or a consumer left."""
        await self._store.command("SPUBLISH", keys.wake, LOOK_AGAIN, key=keys.state)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        for channel in self._channels.values():
            for listener in list(channel.listeners):
                listener.close()
            if channel.leave is not None:
                channel.leave()
        self._channels.clear()

    async def _channel(self, keys: PartitionKeys) -> _Channel:
        channel = self._channels.get(keys.wake) or self._open(keys)
        await asyncio.shield(channel.ready)
        channel.idle_since = self._loop.time()
        return channel

    def _open(self, keys: PartitionKeys) -> _Channel:
        channel = self._channels[keys.wake] = _Channel(keys)
        # A task of its own: the first reader may be cancelled while later ones still wait for it.
        channel.ready = self._loop.create_task(self._join(channel))
        channel.ready.add_done_callback(lambda done: done.cancelled() or done.exception())
        return channel

    async def _join(self, channel: _Channel) -> None:
        try:
            channel.leave = await self._store.subscribe(channel.keys.wake, channel.on_message, channel.on_lost)
            channel.idle_since = self._loop.time()  # the waiting reader becomes a listener after this
        except BaseException:
            self._channels.pop(channel.keys.wake, None)
            raise

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(CHECK_S)
            now = self._loop.time()
            for name, channel in list(self._channels.items()):
                if not channel.listeners and channel.ready.done() and now - channel.idle_since > LINGER_S:
                    del self._channels[name]
                    if channel.leave is not None:
                        channel.leave()
            waited = [c for c in self._channels.values() if c.listeners]
            if waited:
                waited.sort(key=lambda channel: channel.checked_s)
                await self._check(waited[:CHECKED_MAX], now)

    async def _check(self, channels: list[_Channel], now: float) -> None:
        ends = [channel.end for channel in channels]
        fields = ("next", "stable", "epoch", "start")
        try:
            states = await asyncio.gather(
                *(self._store.command("HMGET", c.keys.state, *fields, key=c.keys.state) for c in channels)
            )
        except LedgerError:
            return  # Redis is unreachable: the reconnect wakes all readers
        for channel, known, (end, stable, epoch, start) in zip(channels, ends, states, strict=True):
            channel.checked_s = now
            if end is None:
                channel.on_lost()
                continue
            # Below an end published before this read: the topic was created again.
            back = int(end) < min(known, channel.end)
            if back or (channel.end >= 0 and (int(end) > channel.end or int(stable) > channel.stable)):
                self.missed += 1
                channel.moved(int(epoch), int(end), int(stable))
            elif channel.end < 0:
                channel.first_checked(int(end), int(stable))
            elif channel.head is not None:
                channel.head, channel.read_s = channel.head._replace(start_offset=int(start)), now
