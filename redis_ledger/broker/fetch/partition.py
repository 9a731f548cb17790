"""Fetches record batches from a partition, with a long poll.

    listen to the partition ─▶ read ─▶ records? return them : sleep until it changes ─▶ read again

A read_committed reader gets no markers and no batches of aborted or open transactions; a read_uncommitted reader gets
all batches, with their transaction, except those of aborted transactions whose payload was given back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal

from redis_ledger.broker.fetch import offsets_for_times
from redis_ledger.broker.fetch.many import FetchMany, PartitionRequest, Polled
from redis_ledger.broker.types import Fetched, FetchedBatch, Isolation
from redis_ledger.decoding.budget import Budget, Charge, Decoding
from redis_ledger.errors import OffsetOutOfRange
from redis_ledger.ids import TxnId
from redis_ledger.ledger import entries as logs
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.leader_epochs import epoch_at
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.read import Read
from redis_ledger.ledger.read_memory import ReadMemory
from redis_ledger.ledger.reader import ALL_RECORDS
from redis_ledger.ledger.waiters import Waiters
from redis_ledger.records.batch import place
from redis_ledger.records.control import marker

WIDE = 50  # a fetch of more partitions subscribes before it reads, so that the next one finds their heads cached


class PartitionFetch:
    def __init__(self, catalog: Catalog, waiters: Waiters, decoding: Decoding) -> None:
        self._catalog, self._waiters, self._decoding = catalog, waiters, decoding
        self._loop = asyncio.get_running_loop()

    async def fetch(
        self,
        topic: str,
        number: int,
        offset: int | Literal["earliest", "latest"],
        *,
        isolation: Isolation,
        max_bytes: int,
        wait_ms: int,
        records_max: int = ALL_RECORDS,
        room: ReadMemory | None = None,
    ) -> Fetched:
        committed = isolation == "read_committed"
        deadline = self._loop.time() + wait_ms / 1000

        async def once() -> Fetched:
            partition = await self._catalog.partition(topic, number)
            fetched = await self._first(partition, offset, committed, max_bytes, records_max, room)
            if fetched.batches or wait_ms <= 0:
                return fetched
            async with self._waiters.listen([partition.keys], committed=committed) as listener:
                while True:
                    fetched = await self._once(partition, fetched.next_offset, committed, max_bytes, records_max, room)
                    if fetched.batches or not await listener.wait(deadline - self._loop.time()):
                        return fetched

        return await self._catalog.with_current(topic, once)

    async def next_readable(self, topic: str, number: int, offset: int, *, isolation: Isolation) -> int:
        """The next offset to read: `offset`, moved past markers and, for read_committed, aborted batches."""
        partition = await self._catalog.partition(topic, number)
        return await partition.reader.next_readable(offset, committed=isolation == "read_committed")

    async def poll(
        self,
        wanted: Sequence[PartitionRequest],
        *,
        committed: bool,
        bytes_min: int,
        bytes_max: int,
        wait_ms: int,
        room: ReadMemory | None = None,
    ) -> list[Polled]:
        """The reads of all partitions, in the order of `wanted`.

        Returns when they have bytes_min bytes together, when one of them fails, or after wait_ms.  They have at most
        bytes_max, except for the first batch, which is always returned.  room: memory for the answer.
        Cost: as FetchMany.look; while waiting, only partitions that changed are read again.
        """
        deadline = self._loop.time() + wait_ms / 1000
        fetch = FetchMany(self._catalog, self._waiters, wanted, committed=committed, bytes_max=bytes_max, memory=room)
        everything = range(len(wanted))
        if wait_ms <= 0 or len(wanted) <= WIDE:
            await fetch.look(everything)
            if wait_ms <= 0 or fetch.is_enough(bytes_min) or not wanted:
                return fetch.polled
        async with self._waiters.listen([w.partition.keys for w in wanted], committed=committed) as listener:
            places = {w.partition.keys.wake: i for i, w in enumerate(wanted)}
            stale: Iterable[int] = everything
            while True:
                await fetch.look(stale)
                if fetch.is_enough(bytes_min) or not await listener.wait(deadline - self._loop.time()):
                    return fetch.polled
                stale = sorted(places[channel] for channel in listener.take_changed())

    async def offset_at(
        self,
        topic: str,
        partition: int,
        timestamp_ms: int,
        *,
        isolation: Isolation = "read_committed",
        charge: Charge | None = None,
    ) -> tuple[int, int | None]:
        """The offset and timestamp of the first record with this timestamp or a later one, else the end and None.

        charge: called with the number of decoded bytes.
        """
        committed = isolation == "read_committed"

        async def once() -> tuple[int, int | None]:
            found = await self._catalog.partition(topic, partition)
            with self.budget(charge) as budget:
                at = await offsets_for_times.find(found, timestamp_ms, committed, budget)
            if at is None:
                head = await found.offsets.head()
                return (head.stable_offset if committed else head.end_offset), None
            return at

        return await self._catalog.with_current(topic, once)

    def budget(self, charge: Charge | None = None) -> Budget:
        """The decoding budget of one request."""
        return self._decoding.budget(charge=charge)

    async def _first(
        self, partition: Partition, offset: int | Literal["earliest", "latest"], committed: bool, max_bytes: int,
        records_max: int, room: ReadMemory | None,
    ) -> Fetched:  # fmt: skip
        while True:
            at = await self._start(partition, offset, committed)
            try:
                return await self._once(partition, at, committed, max_bytes, records_max, room)
            except OffsetOutOfRange:
                if offset != "earliest":
                    raise
                # The log start has moved since it was read.

    async def _start(self, partition: Partition, offset: int | Literal["earliest", "latest"], committed: bool) -> int:
        if isinstance(offset, int):
            return offset
        head = await partition.offsets.head()
        if offset == "earliest":
            return head.start_offset
        return head.stable_offset if committed else head.end_offset

    async def _once(
        self,
        partition: Partition,
        offset: int,
        committed: bool,
        max_bytes: int,
        records_max: int,
        room: ReadMemory | None,
    ) -> Fetched:
        """One read; continues past entries that this reader does not get."""
        while True:
            read = await partition.reader.read(
                offset, committed=committed, bytes_max=max_bytes, records_max=records_max, room=room
            )
            fetched = self._shape(read, offset, committed)
            if fetched.batches or not read.entries:
                return fetched
            offset, records_max = fetched.next_offset, ALL_RECORDS  # there may be many such entries

    def _shape(self, read: Read, offset: int, committed: bool) -> Fetched:
        head, batches = read.head, []
        starts = head.epoch_starts
        for entry, payload in zip(read.entries, read.payloads, strict=True):
            if isinstance(entry, logs.ReclaimedEntry):
                continue
            if committed and (entry.is_marker or logs.is_aborted(entry, read.aborted)):
                continue
            epoch = epoch_at(starts, entry.base_offset) if starts else head.leader_epoch
            if entry.is_marker:
                data = marker(
                    entry.base_offset, epoch, entry.producer_id, entry.epoch,
                    bool(entry.flags & logs.COMMIT), 0, entry.appended_ms,
                )  # fmt: skip
            else:
                data = place(payload, entry.base_offset, epoch)
            txn = TxnId.of_producer(entry.producer_id) if entry.is_transactional or entry.was_aside else None
            batches.append(FetchedBatch(entry.base_offset, entry.last_offset, data, entry.is_marker, txn))
        following = read.entries[-1].last_offset + 1 if read.entries else offset
        aborted = [(a.producer_id, a.first_offset) for a in read.aborted if a.first_offset < following]
        return Fetched(
            batches, following, head.start_offset, head.stable_offset, head.end_offset, aborted, read.leads_to_batch
        )
