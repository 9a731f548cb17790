"""Long polls: receives of a subscription that wait until there are messages.

    wake-up of partition 3       ─▶ 3 may have messages ─▶ the first poll that wants 3 leases there ─▶ its messages
    a lease on 5 expires         ─▶ 5 may have messages ─▶ ...                 none ─▶ it stays in the queue

The polls of a subscription at this broker form one queue and share the state of its partitions.  So an append costs
one attempt to lease for any number of polls, and a poll on empty partitions costs none.  A partition is empty if an
attempt that began after its last wake-up left nothing.  This state is valid until the next lease expires, and for at
most KNOWN_S.

A poll whose consumer has as many unacknowledged messages as it may have is passed over for PAUSE_S, and the partition
is not empty for the others.

Normally one poll at a time leases on a partition.  While a reply leaves more messages, the number of concurrent polls
doubles, so a backlog is delivered to many at once.
Source: Pulsar's dispatcher of a shared subscription (one per subscription and broker).
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from redis_ledger.broker.types import Message
from redis_ledger.clock import Clock
from redis_ledger.cursor.scripts import Received
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.waiters import Waiters

KNOWN_S = 30.0  # after this a partition is read again, even without a wake-up
LINGER_S = 30.0  # the queue stays subscribed to wake-ups for this long after the last poll
PAUSE_S = 0.1  # a poll that a limit has stopped tries again after this long
AT_ONCE_MAX = 64  # polls that lease on one partition


class Leased(NamedTuple):
    """answers: the last reply of each partition that was read, by number.  has_skipped: some leased records are too
    large to decode."""

    messages: list[Message]
    answers: Mapping[int, Received]
    has_skipped: bool

    @property
    def is_empty(self) -> bool:
        return not self.messages and not self.has_skipped


class Receiving(Protocol):
    """One receive: leases for its consumer, and releases."""

    async def lease(self, partitions: Sequence[Partition]) -> Leased: ...

    async def release(self, messages: Sequence[Message]) -> None: ...


class _WatchedPartition:
    """The state of a partition.  changes: counts events that may have brought messages.  asked: current attempts;
    at_once: their limit.  until_s: end of validity of this state."""

    __slots__ = ("asked", "at_once", "changes", "partition", "until_s")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.changes, self.asked, self.at_once, self.until_s = 0, 0, 1, 0.0


class _Poll:
    """number: its position in the queue.  is_over: it timed out while it was served.  pauses: a limit stopped it."""

    __slots__ = ("answer", "is_over", "most", "number", "pauses", "receiving", "service", "wanted")

    def __init__(
        self,
        number: int,
        wanted: frozenset[int],
        most: int,
        receiving: Receiving,
        answer: asyncio.Future[list[Message]],
    ) -> None:
        self.number, self.wanted, self.most, self.receiving, self.answer = number, wanted, most, receiving, answer
        self.service: asyncio.Task[None] | None = None
        self.is_over, self.pauses = False, False


class LongPolls:
    """The long polls of all subscriptions at this broker, by topic id and name."""

    def __init__(self, waiters: Waiters, clock: Clock) -> None:
        self._waiters, self._clock = waiters, clock
        self._queues: dict[tuple[str, str], _Queue] = {}

    def listens(self, name: str, partitions: Sequence[Partition]) -> bool:
        """Whether the subscription's queue receives wake-ups of all these partitions, so that `wait` is enough."""
        queue = self._queues.get((partitions[0].topic_id, name))
        return queue is not None and queue.listens(partitions)

    async def wait(
        self, name: str, partitions: Sequence[Partition], most: int, seconds: float, receiving: Receiving
    ) -> list[Message]:
        """Returns up to `most` messages as soon as a partition has some; none after `seconds`, or if the broker closes.
        Raises as `receiving` and Waiters.listen."""
        at = partitions[0].topic_id, name
        queue = self._queues.get(at)
        if queue is None:
            queue = self._queues[at] = _Queue(self._waiters, self._clock, lambda: self._queues.pop(at, None))
        return await queue.wait(partitions, most, seconds, receiving)


class _Queue:
    """The queue of one subscription.  on_idle: called when it has left all wake-up channels."""

    def __init__(self, waiters: Waiters, clock: Clock, on_idle: Callable[[], object]) -> None:
        self._waiters, self._clock, self._on_idle = waiters, clock, on_idle
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count()
        self._waiting: dict[int, _Poll] = {}  # by number, in order; without those that are served
        self._served = 0
        self._used_s = self._loop.time()
        self._joined: dict[int, asyncio.Future[None]] = {}  # done when the partition's wake-ups are received
        self._places: dict[int, _WatchedPartition] = {}
        self._maybe: dict[int, _WatchedPartition] = {}  # partitions that may have messages
        self._ends: list[tuple[float, int]] = []  # heap of until_s
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # -- polls -------------------------------------------------------------------------------------------------------

    def listens(self, partitions: Iterable[Partition]) -> bool:
        return all(p.number in self._places for p in partitions)

    async def wait(
        self, partitions: Sequence[Partition], most: int, seconds: float, receiving: Receiving
    ) -> list[Message]:
        self._used_s = self._loop.time()
        deadline = self._used_s + seconds
        await self._join(partitions)
        answer: asyncio.Future[list[Message]] = self._loop.create_future()
        poll = _Poll(next(self._numbers), frozenset(p.number for p in partitions), most, receiving, answer)
        self._waiting[poll.number] = poll
        timer = self._loop.call_at(deadline, self._expire, poll)
        self._serve()
        try:
            return await answer
        except asyncio.CancelledError:
            await self._undo(poll)
            raise
        finally:
            timer.cancel()
            self._waiting.pop(poll.number, None)
            self._used_s = self._loop.time()

    def _expire(self, poll: _Poll) -> None:
        poll.is_over = True
        if poll.service is None and not poll.answer.done():
            self._waiting.pop(poll.number, None)
            poll.answer.set_result([])

    async def _undo(self, poll: _Poll) -> None:
        """Releases the leases of a cancelled poll before the cancellation completes."""
        poll.answer.cancel()  # unless it has messages already
        if poll.service is not None:
            await asyncio.wait({poll.service})
        elif not poll.answer.cancelled() and poll.answer.exception() is None:
            await poll.receiving.release(poll.answer.result())

    # -- leasing -----------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Gives the partitions that may have messages to the polls that came first."""
        for poll in list(self._waiting.values()) if self._maybe else ():
            if poll.pauses:
                continue
            free = [number for number, place in self._maybe.items() if place.asked < place.at_once]
            if not free:
                return
            chosen = [number for number in free if number in poll.wanted][: poll.most]
            if not chosen:
                continue
            del self._waiting[poll.number]
            begun = {}
            for number in chosen:
                place = self._maybe[number] = self._maybe.pop(number)  # to the end: other partitions come first
                place.asked += 1
                begun[number] = place, place.changes
            self._served += 1
            poll.service = self._start(self._lease(poll, begun))

    async def _lease(self, poll: _Poll, begun: Mapping[int, tuple[_WatchedPartition, int]]) -> None:
        """begun: the partitions to lease on, and their changes so far."""
        try:
            leased = await poll.receiving.lease([place.partition for place, _ in begun.values()])
        except BaseException as error:
            if not poll.answer.done():
                poll.answer.set_exception(error)
            raise
        else:
            for number, (place, changes) in begun.items():
                self._learn(place, changes, leased.answers.get(number))
            if poll.answer.cancelled():
                await poll.receiving.release(leased.messages)
            elif not leased.is_empty or poll.is_over or not self._joined:
                poll.answer.set_result(leased.messages)
            elif any(each.reason is not None for each in leased.answers.values()):
                poll.pauses = True
                self._loop.call_later(PAUSE_S, self._resume, poll)
        finally:
            poll.service = None
            self._served -= 1
            for place, _ in begun.values():
                place.asked -= 1
            if not poll.answer.done():
                self._waiting[poll.number] = poll
                self._waiting = dict(sorted(self._waiting.items()))
            self._serve()

    def _resume(self, poll: _Poll) -> None:
        poll.pauses = False
        self._serve()

    def _learn(self, place: _WatchedPartition, changes: int, received: Received | None) -> None:
        number = place.partition.number
        if received is None or self._places.get(number) is not place:  # not read; not watched any more
            return
        if received.more:
            place.at_once = min(2 * place.at_once, AT_ONCE_MAX)
            self._maybe.setdefault(number, place)
            return
        place.at_once = 1
        if received.reason is not None:
            self._maybe.setdefault(number, place)
        elif place.changes == changes:
            self._maybe.pop(number, None)
        seconds = KNOWN_S
        if received.next_due_ms >= 0:
            seconds = min(seconds, max((received.next_due_ms - self._clock.now_ms()) / 1000, 0.001))
        place.until_s = self._loop.time() + seconds
        heapq.heappush(self._ends, (place.until_s, number))
        if len(self._ends) > 8 * len(self._places) + 64:  # most of them are outdated
            self._ends = sorted((each.until_s, at) for at, each in self._places.items())
        self._arm()

    def _changed(self, place: _WatchedPartition) -> None:
        place.changes += 1
        self._maybe.setdefault(place.partition.number, place)

    def _arm(self) -> None:
        if not self._ends:
            return
        first_s = self._ends[0][0]
        if self._timer is None or self._timer.when() > first_s:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(first_s, self._end)

    def _end(self) -> None:
        """Marks the partitions whose state has expired."""
        self._timer = None
        now_s = self._loop.time()
        while self._ends and self._ends[0][0] <= now_s + 0.0005:
            until_s, number = heapq.heappop(self._ends)
            place = self._places.get(number)
            if place is not None and place.until_s == until_s:
                self._changed(place)
        self._arm()
        self._serve()

    # -- wake-ups ----------------------------------------------------------------------------------------------------

    async def _join(self, partitions: Sequence[Partition]) -> None:
        """Subscribes to wake-ups of these partitions; returns when that is in effect."""
        missing = [p for p in partitions if p.number not in self._joined]
        if missing:
            joined: asyncio.Future[None] = self._loop.create_future()
            joined.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._joined.update(dict.fromkeys((p.number for p in missing), joined))
            self._start(self._listen(missing, joined))
        for joined in {self._joined[p.number] for p in partitions}:
            if not joined.done() or joined.exception() is not None:
                await asyncio.shield(joined)

    async def _listen(self, partitions: Sequence[Partition], joined: asyncio.Future[None]) -> None:
        try:
            async with self._waiters.listen([p.keys for p in partitions], committed=True) as listener:
                places = {p.keys.wake: _WatchedPartition(p) for p in partitions}
                for place in places.values():
                    self._places[place.partition.number] = place
                    self._changed(place)
                joined.set_result(None)
                while not self._is_idle() and not listener.is_closed:
                    if await listener.wait(LINGER_S):
                        for channel in listener.take_changed():
                            self._changed(places[channel])
                        self._serve()
                self._leave(partitions)
        except BaseException as error:
            self._leave(partitions)
            if not joined.done():
                joined.set_exception(error)
            raise

    def _is_idle(self) -> bool:
        return not self._waiting and not self._served and self._loop.time() - self._used_s > LINGER_S

    def _leave(self, partitions: Iterable[Partition]) -> None:
        for p in partitions:
            for each in (self._joined, self._places, self._maybe):
                each.pop(p.number, None)
        if self._joined:
            return
        self._on_idle()
        if self._timer is not None:
            self._timer.cancel()
        for poll in self._waiting.values():  # the broker closes
            if not poll.answer.done():
                poll.answer.set_result([])
        self._waiting.clear()

    def _start(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved: the poll has raised it
