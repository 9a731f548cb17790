"""Reads in advance: the next batches of a reader that goes on, while its client works on the last ones.

read 0-9 ─▶ read 10-19, which follows ─▶ 20-29 is read in advance ─▶ read 20-29: taken from there
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from redis_ledger.errors import LedgerError
from redis_ledger.ledger.partition_offsets import PartitionHead, PartitionOffsets
from redis_ledger.ledger.read import Moved, Read
from redis_ledger.ledger.tail_cache import Tails

BYTES_MAX, S_MAX = 2 << 20, 2.0  # a read is never larger, and never older when it is used


class ReadRange(NamedTuple):
    """What a reader asks for."""

    offset: int
    committed: bool
    bytes_max: int
    records_max: int


class BegunRead(NamedTuple):
    """timer: drops the read if it is not taken.  It does not refer to the read, which would keep its payload."""

    range: ReadRange
    read: asyncio.Task[Read]
    timer: asyncio.TimerHandle


class ReadAhead:
    """begun: the read in advance of a partition, at most one at a time.

    read: reads from Redis.  tails: lends the memory
    """

    def __init__(
        self, offsets: PartitionOffsets, tails: Tails, read: Callable[[ReadRange], Coroutine[Any, Any, Read]]
    ) -> None:
        self._offsets, self._tails, self._read = offsets, tails, read
        self._following = -1  # where the last read from Redis ended
        self.begun: BegunRead | None = None
        self._loop = asyncio.get_running_loop()

    async def take(self, wanted: ReadRange, head: PartitionHead | None) -> Read | None:
        """The read of this range, if it was made in advance.  head: the current one, if it is known."""
        begun = self.begun
        if begun is None or begun.range != wanted:
            return None
        self.forget()
        try:
            # The offsets of then may be lower than those of an answer in between: the end would go back.
            is_current = head is not None and begun.read.done()
            read = await begun.read
            now = head if head is not None and is_current else await self._offsets.head()
        except (LedgerError, Moved):
            return None  # the caller reads again, and raises
        if now.start_offset < read.head.start_offset:
            now = now._replace(start_offset=read.head.start_offset)
        return read._replace(head=now) if read.entries and wanted.offset >= now.start_offset else None

    def follow(self, done: ReadRange, read: Read) -> None:
        """Begins the next read if this one continued the last one and stopped at its size limit."""
        is_following, following = done.offset == self._following, -1
        if read.entries:
            following = self._following = read.entries[-1].last_offset + 1
        end = read.head.stable_offset if done.committed else read.head.end_offset
        if not is_following or not 0 <= following < end or self.begun is not None or done.bytes_max > BYTES_MAX:
            return
        if not self._tails.lend(done.bytes_max):
            return
        wanted = done._replace(offset=following)
        task = self._loop.create_task(self._read(wanted))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.begun = BegunRead(wanted, task, self._loop.call_later(S_MAX, self.forget))

    def forget(self) -> None:
        """Drops it: it is old, or its records may have been trimmed."""
        begun, self.begun = self.begun, None
        if begun is not None:
            begun.timer.cancel()
            self._tails.give_back(begun.range.bytes_max)
