"""One fetch of many partitions, as in Kafka's Fetch request.

    head cached, no records after the offset ─▶ no read     else ─▶ read, in request order, until the answer is full

A partition gets the bytes it requested while there is room in the answer; empty partitions take no room.
Source: KIP-74 (partitions are filled in order; the first batch is always returned).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from redis_ledger.errors import LedgerError, UnknownTopic
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.partition_offsets import PartitionHead
from redis_ledger.ledger.read import Read
from redis_ledger.ledger.read_memory import ReadMemory
from redis_ledger.ledger.waiters import Waiters
from redis_ledger.records.control import MARKER_BYTES


class PartitionRequest(NamedTuple):
    """A read of one partition.  leader_epoch: the client's, or -1."""

    partition: Partition
    offset: int
    bytes_max: int
    leader_epoch: int = -1

    def has_nothing(self, head: PartitionHead, committed: bool) -> bool:
        """True if a read would return no records and no error."""
        end = head.stable_offset if committed else head.end_offset
        return end <= self.offset <= head.end_offset and self.leader_epoch in (-1, head.leader_epoch)


Polled = Read | LedgerError


class FetchMany:
    """polled: the last read of each partition, in the order of `wanted`."""

    def __init__(
        self,
        catalog: Catalog,
        waiters: Waiters,
        wanted: Sequence[PartitionRequest],
        *,
        committed: bool,
        bytes_max: int,
        memory: ReadMemory | None = None,
    ) -> None:
        """memory: for the payload; reads are shortened if there is not enough."""
        self._catalog, self._waiters, self._wanted = catalog, waiters, wanted
        self._committed, self._bytes_max, self._memory = committed, bytes_max, memory
        self._polled: dict[int, Polled] = {}
        self._sizes: dict[int, int] = {}  # of those that are not empty
        self._room = bytes_max  # that they leave
        self._failed = False

    @property
    def polled(self) -> list[Polled]:
        return [self._polled[index] for index in range(len(self._wanted))]

    def is_enough(self, bytes_min: int) -> bool:
        """True if the answer has bytes_min bytes, or a partition failed."""
        return self._failed or self._bytes_max - self._room >= max(bytes_min, 1)

    async def look(self, indexes: Iterable[int]) -> None:
        """Reads these partitions again.  They share the room that the others leave; the first batch is always read.

        Cost: a state read for each partition without a cached head; one or two more round trips for those with records.
        """
        unknown = []
        for index in indexes:
            self._room += self._sizes.pop(index, 0)
            wanted = self._wanted[index]
            head = self._waiters.head(wanted.partition.keys)
            if head is not None and wanted.has_nothing(head, self._committed):
                self._polled[index] = Read(head, [], [], [])
            else:
                unknown.append(index)
        reading: Sequence[int] = unknown
        if sum(self._wanted[index].bytes_max for index in unknown) > self._room:
            reading = await self._with_records(unknown)
        while reading:
            now, reading = self._that_fit(reading)
            if not now:
                break
            if len(now) == 1:
                await self._read(now[0])
            else:
                await asyncio.gather(*(self._read(index) for index in now))

    def _that_fit(self, indexes: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """The first partitions, as many as fit at their maximum size, and the others; none if the answer is full."""
        room, count = self._room, 0
        if room <= 0 and self._sizes:
            return (), indexes
        for index in indexes:
            room -= self._wanted[index].bytes_max
            if room < 0:
                break
            count += 1
        count = max(count, 1)
        return indexes[:count], indexes[count:]

    async def _with_records(self, indexes: Sequence[int]) -> list[int]:
        """Partitions with records to read.  The head is the answer of the others."""
        await asyncio.gather(*(self._head(index) for index in indexes))
        found = []
        for index in indexes:
            polled = self._polled[index]
            if isinstance(polled, Read) and not self._wanted[index].has_nothing(polled.head, self._committed):
                found.append(index)
        return found

    async def _head(self, index: int) -> None:
        partition = self._wanted[index].partition
        head = self._waiters.head(partition.keys)
        if head is None:
            mark = self._waiters.mark(partition.keys)
            try:
                head = await partition.offsets.head()
            except LedgerError as error:
                self._polled[index] = self._refused(partition, error)
                return
            self._waiters.learn(mark, head)
        self._polled[index] = Read(head, [], [], [])

    async def _read(self, index: int) -> None:
        partition, offset, bytes_max, _ = self._wanted[index]
        keys, waiters = partition.keys, self._waiters
        mark = waiters.mark(keys)
        head = None if mark is None else waiters.fresh_head(mark)
        try:
            room = max(min(bytes_max, self._room), 1)
            read = await partition.reader.read(
                offset, committed=self._committed, bytes_max=room, room=self._memory, head=head
            )
        except LedgerError as error:
            self._polled[index] = self._refused(partition, error)
            return
        if read.head is not head:
            waiters.learn(mark, read.head)
        if partition.reader.ahead.begun is not None:
            waiters.follow(keys)
        self._polled[index] = read
        if read.entries:
            size = self._sizes[index] = sum([entry.size or MARKER_BYTES for entry in read.entries])
            self._room -= size

    def _refused(self, partition: Partition, error: LedgerError) -> LedgerError:
        self._failed = True
        if isinstance(error, UnknownTopic):
            self._catalog.forget(partition.topic)
        return error
