"""Waiting for a partition to change, without asking Redis again and again.

    subscribe  ─▶  read state  ─▶  nothing there  ─▶  sleep  ─▶  woken: read again

Every append and every end publishes (leader epoch, end, stable offset) on the partition's channel, from inside the
script, so a reader that subscribed before it read cannot miss one.  A reader of committed records says so and is left
asleep while only the end moves: waiting behind an open transaction costs nothing.  A lost connection wakes everybody.
Once a second a pipelined state check is the safety net: of the partitions somebody waits for, the CHECKED_MAX that were
checked longest ago.  What it catches is counted, and the count is normally 0.

    subscribed  ─▶  a reader reads the state  ─▶  its head is known  ─▶  kept up by what is published  ─▶  lost: unknown

So a reader that finds its partition where it left it need not read the state (`head`).  Trimming is not published: the
log start of a known head is as of the last read or check.
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

LOOK_AGAIN = b"look again"  # messages came back to a subscription: no offset has moved
CHECK_S = 1.0
CHECKED_MAX = 32  # channels that one check looks at
LINGER_S = 30.0  # a channel nobody waits on is left after this long


class Listener:
    """One reader's ear on some partitions."""

    def __init__(self, committed: bool) -> None:
        self._committed = committed
        self._woken = asyncio.Event()
        self._closed = False
        self._heard: set[bytes] = set()

    def hear(self, channel: bytes, end: int, stable: int, last_end: int, last_stable: int) -> None:
        if (stable > last_stable) if self._committed else (end > last_end):
            self.wake(channel)

    def wake(self, channel: bytes) -> None:
        self._heard.add(channel)
        self._woken.set()

    def heard(self) -> set[bytes]:
        """The channels (`wake` of a partition's keys) that have spoken since this was asked last."""
        heard, self._heard = self._heard, set()
        return heard

    def close(self) -> None:
        self._closed = True
        self._woken.set()

    @property
    def is_closed(self) -> bool:
        """The broker is closing: there is nothing to wait for any more."""
        return self._closed

    async def wait(self, seconds: float) -> bool:
        """True when something changed since the last wait; False after `seconds`, or when the broker is closing."""
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
    """end, stable: as published last, -1 before that.  head: None while it is not known.  losses: how often messages
    may have been lost."""

    def __init__(self, keys: PartitionKeys) -> None:
        self.keys = keys
        self.listeners: set[Listener] = set()
        self.end, self.stable = -1, -1
        self.head: PartitionHead | None = None
        self.losses = 0
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.leave: Callable[[], None] | None = None
        self.idle_since = self.checked_s = 0.0

    def on_message(self, message: bytes) -> None:
        if message == LOOK_AGAIN:
            self.wake()
            return
        epoch, end, stable = map(int, message.split())
        self.moved(epoch, end, stable)

    def moved(self, epoch: int, end: int, stable: int) -> None:
        last_end, last_stable, head = self.end, self.stable, self.head
        if end < last_end:  # the topic was made again, or a state check was quicker than this message: let all look
            self.end, self.stable = end, stable
            self.on_lost()
            return
        self.end, self.stable = end, max(stable, last_stable)
        if head is not None:
            is_later = end >= head.end_offset and self.stable >= head.stable_offset
            moved = head._replace(leader_epoch=epoch, end_offset=end, stable_offset=self.stable)
            self.head = moved if is_later else None
        for listener in list(self.listeners):
            listener.hear(self.keys.wake, end, stable, last_end, last_stable)

    def first_checked(self, end: int, stable: int) -> None:
        """Nothing was published yet, and what readers have read is not known here: let them look once."""
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

    def learn(self, head: PartitionHead) -> None:
        if head.end_offset >= self.end and head.stable_offset >= self.stable:
            self.head = head


class Mark(NamedTuple):
    """That a partition's channel was subscribed to at some time."""

    channel: _Channel
    losses: int


class Waiters:
    """All listeners of one broker.  `missed` counts changes only the safety net saw."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._channels: dict[bytes, _Channel] = {}
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._watch())
        self.missed = 0

    @asynccontextmanager
    async def listen(self, partitions: Sequence[PartitionKeys], *, committed: bool) -> AsyncIterator[Listener]:
        """A listener that hears every change from now on: read state after this has been entered."""
        now = self._loop.time()
        channels = []
        for keys in partitions:
            channel = self._channels.get(keys.wake)
            if channel is None or channel.leave is None:  # not heard yet
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
        """Where the partition stands, if that is known here; all but its log start is up to date."""
        channel = self._channels.get(keys.wake)
        return None if channel is None else channel.head

    def mark(self, keys: PartitionKeys) -> Mark | None:
        """To be taken before the state is read that `learn` is given; None if its changes are not listened to."""
        channel = self._channels.get(keys.wake)
        return None if channel is None or channel.leave is None else Mark(channel, channel.losses)

    def learn(self, mark: Mark | None, head: PartitionHead) -> None:
        """The head was read after the mark was taken, and is known from now on."""
        if mark is not None and mark.losses == mark.channel.losses:
            mark.channel.learn(head)

    async def poke(self, keys: PartitionKeys) -> None:
        """Messages were handed back here: waiting readers of every broker look again."""
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
        channel = self._channels.get(keys.wake)
        if channel is None:
            channel = self._channels[keys.wake] = _Channel(keys)
            # By itself: the reader that came first may go away, those that came after it still wait for this.
            channel.ready = self._loop.create_task(self._join(channel))
            channel.ready.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(channel.ready)
        channel.idle_since = self._loop.time()
        return channel

    async def _join(self, channel: _Channel) -> None:
        try:
            channel.leave = await self._store.subscribe(channel.keys.wake, channel.on_message, channel.on_lost)
            channel.idle_since = self._loop.time()  # who waits for this is only about to become a listener
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
            return  # Redis is away: its return wakes everybody
        for channel, known, (end, stable, epoch, start) in zip(channels, ends, states, strict=True):
            channel.checked_s = now
            if end is None:
                channel.on_lost()
                continue
            # Below what was heard before this was asked: the topic was made again.
            back = int(end) < min(known, channel.end)
            if back or (channel.end >= 0 and (int(end) > channel.end or int(stable) > channel.stable)):
                self.missed += 1
                channel.moved(int(epoch), int(end), int(stable))
            elif channel.end < 0:
                channel.first_checked(int(end), int(stable))
            elif channel.head is not None:
                channel.head = channel.head._replace(start_offset=int(start))
