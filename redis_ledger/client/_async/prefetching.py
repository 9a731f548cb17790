"""Fetches messages ahead of the application: the half of a consumer that waits.

    receive() ─▶ take what counts as delivered ─▶ none: extend what is reserved ─▶ none: wait for the worker
    worker    ─▶ fetch what client/pace.py allows, reserved ─▶ wait until there is room

One call at a time extends, and one worker fetches.  What calls wait for is not reserved: it is handed out at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Protocol

from redis_ledger.client._async.lease_keeper import AsyncExtend
from redis_ledger.client.concurrency import AsyncCondition, AsyncMutex, AsyncWorker
from redis_ledger.client.models import Message
from redis_ledger.client.pace import Pace
from redis_ledger.client.prefetched import Prefetched
from redis_ledger.client.progress import Progress
from redis_ledger.errors import LedgerError
from redis_ledger.ids import MessageId

POLL_MS = 500  # longest wait of a prefetch request, and so the longest time that `close` waits for one


class AsyncFetch(Protocol):
    async def __call__(self, max_messages: int, wait_ms: int, has: Progress, *, is_reserved: bool) -> list[Message]: ...


class AsyncReturn(Protocol):
    async def __call__(self, ids: Sequence[MessageId]) -> None: ...


class AsyncPrefetching:
    """most: messages that may be ready.
    extend        returns the ids that the consumer does not have any more
    give_back     returns messages that were not handed out
    """

    def __init__(
        self,
        fetch: AsyncFetch,
        extend: AsyncExtend,
        give_back: AsyncReturn,
        *,
        is_ordered: bool,
        most: int,
        ack_timeout_ms: int,
    ) -> None:
        self._fetch, self._extend, self._give_back = fetch, extend, give_back
        self._is_ordered, self._most, self._ack_timeout_ms = is_ordered, most, ack_timeout_ms
        self._ahead = Prefetched(is_ordered)
        self.handed_out = Progress()
        self._pace = Pace()
        self._mutex = AsyncMutex()
        self._arrived = AsyncCondition(self._mutex)
        self._room = AsyncCondition(self._mutex)
        self._worker: AsyncWorker | None = None
        self._wanted = 0  # messages that callers have asked for since the last request
        self._awaited = 0  # those of calls that wait for at least another request
        self._is_fetching = self._is_opening = False
        self._error: LedgerError | None = None
        self._generation = 0  # increases when prefetched messages become invalid
        self.is_closed = False

    def close(self) -> bool:
        """Ends calls that wait; False if it was closed before.  From any thread and from a signal handler."""
        with self._mutex:
            if self.is_closed:
                return False
            self.is_closed = True
            self._arrived.notify_all()
            self._room.notify_all()
            return True

    async def join(self) -> None:
        if self._worker is not None:
            await self._worker.join()

    def forget(self) -> list[MessageId]:
        """Forgets what was fetched and handed out.  Returns the ids that count as delivered and were not handed out."""
        with self._mutex:
            self.handed_out.clear()
            self._generation += 1
            self._room.notify()
            return self._ahead.clear()

    def clear(self) -> tuple[list[MessageId], list[MessageId]]:
        """Returns the ids of all that was not handed out, and of those that count as delivered."""
        with self._mutex:
            return [message.id for message in self._ahead], self._ahead.clear()

    async def receive(self, max_messages: int, wait_ms: int) -> list[Message] | None:
        """Returns None if the consumer is closed."""
        until_s = monotonic() + wait_ms / 1000
        while True:
            with self._mutex:
                taken = self._take(max_messages)
                # Check after taking: a signal handler may close the consumer at any point.
                if self.is_closed:
                    return None
                if taken:
                    return taken
                if self._error is not None:
                    error, self._error = self._error, None
                    raise error
                opening = self._unopened(max_messages)
                if not opening:
                    self._want(max_messages)
                    left_s = until_s - monotonic()
                    if left_s <= 0:
                        return []
                    awaited = max_messages if left_s * 1000 >= POLL_MS else 0
                    self._awaited += awaited
                    try:
                        await self._arrived.wait(left_s)
                    finally:
                        self._awaited -= awaited
            if opening:
                await self._open(opening)

    def _take(self, max_messages: int) -> list[Message]:
        now_s = monotonic()
        if self._ahead.drop_expired(now_s) and self._is_ordered:
            self._generation += 1
        taken = self._ahead.take(max_messages)
        if taken:
            for message in taken:
                self.handed_out.add(message)
            self._pace = self._pace.take(now_s, len(taken))
        if self._room_now():
            self._room.notify()
        return taken

    def _unopened(self, max_messages: int) -> list[MessageId]:
        """The messages to extend before some are handed out; none if another call does that."""
        if self._is_opening:
            return []
        opening = self._ahead.unopened(max_messages, self._pace.soon(monotonic()))
        self._is_opening = bool(opening)
        return opening

    async def _open(self, ids: list[MessageId]) -> None:
        """Extends reserved messages, so that they count as delivered, and are leased for the whole time."""
        generation, began_s, lost = self._generation, monotonic(), None
        try:
            lost = await self._extend(ids)
        finally:
            with self._mutex:
                self._is_opening = False
                if lost is not None and generation == self._generation:
                    until_s = began_s + self._ack_timeout_ms / 1000
                    if self._ahead.open(ids, lost, until_s) and self._is_ordered:
                        self._generation += 1
                self._arrived.notify_all()

    def _want(self, messages: int) -> None:
        if len(self._ahead):
            return
        self._wanted += messages
        self._room.notify()
        if not self._is_fetching:
            self._is_fetching = True
            self._worker = AsyncWorker(self._fetch_ahead, "redis-ledger consumer")

    def _room_now(self) -> int:
        """How many messages to fetch."""
        ahead = self._pace.ahead(monotonic(), self._most, self._ack_timeout_ms)
        if len(self._ahead) == 0:
            return min(max(ahead, self._wanted), self._most)
        return ahead - len(self._ahead) if len(self._ahead) <= ahead // 2 else 0

    async def _fetch_ahead(self) -> None:
        try:
            while True:
                with self._mutex:
                    while not (room := self._room_now()) and not self.is_closed:
                        await self._room.wait()
                    if self.is_closed:
                        return
                    generation, self._wanted = self._generation, 0
                    has = self.handed_out.with_(self._ahead)
                    is_awaited = len(self._ahead) == 0 and room <= self._awaited
                messages = await self._fetch(
                    room, min(POLL_MS, self._ack_timeout_ms // 4), has, is_reserved=not is_awaited
                )
                with self._mutex:
                    is_current = generation == self._generation
                    if is_awaited and not self._awaited:  # the callers have given up
                        is_current = False
                    if is_current:
                        self._ahead.add(messages, is_reserved=not is_awaited)
                    self._arrived.notify_all()  # a call that still waits asks again
                # An exclusive consumer receives them again: its next request names an earlier message.
                if messages and not is_current and not self._is_ordered:
                    await self._give_back([message.id for message in messages])
        except LedgerError as error:
            # The next receive raises it, and the one after that tries again.
            self._error = error
        finally:
            with self._mutex:
                self._is_fetching = False
                self._arrived.notify_all()
