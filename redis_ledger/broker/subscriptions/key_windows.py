"""Hashes of keys for key_shared subscriptions: the broker reads new records first, since Redis has no keys.

    read ─▶ decode ─▶ hash of each key ─▶ window ─▶ cursor/receive_key_shared

A window is kept for each cursor, and the batches that were decoded for one are kept for a while, so that records are
decoded once for all consumers of this broker.
Source: docs/decisions/0046.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from weakref import WeakValueDictionary

from redis_ledger.cursor.key_shared import HASH_BYTES, NO_WINDOW, KeyWindow, hash_of
from redis_ledger.cursor.scripts import Received
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget
from redis_ledger.errors import OffsetOutOfRange
from redis_ledger.ledger.decoded_batches import DecodedBatches
from redis_ledger.ledger.entries import LogEntry
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.record_slices import UNREADABLE, Known

RECORDS_MAX = 1_000  # offsets of a window, and new records that one call of the script looks at
GAP_MAX = 1 << 14  # offsets without a record that one window passes
READ_BYTES = 4 << 20
KEPT_MAX = 1_000  # windows

Cursor = tuple[str, int, str]  # topic id, partition, subscription


class KeyWindows:
    def __init__(self) -> None:
        self._kept: OrderedDict[Cursor, KeyWindow] = OrderedDict()
        self._decoded = DecodedBatches()
        self._turns: WeakValueDictionary[Cursor, asyncio.Lock] = WeakValueDictionary()

    def records_of(self, partition: Partition) -> Known:
        """The batches of a partition that were decoded for a window."""
        return lambda entry: self._decoded.get(partition, entry)

    def known(self, partition: Partition, name: str) -> KeyWindow:
        """The window that is kept for a cursor, or an empty one."""
        return self._kept.get((partition.topic_id, partition.number, name), NO_WINDOW)

    async def of(self, partition: Partition, name: str, answer: Received, budget: Budget) -> KeyWindow:
        """The window at the first new record of the answer, which has one.  Raises DecodingBusy, UnknownTopic."""
        at = (partition.topic_id, partition.number, name)
        async with self._turns.setdefault(at, asyncio.Lock()):  # several consumers need the same
            window = self._kept.get(at, NO_WINDOW)
            if not window.covers(answer.read):
                window = self._kept[at] = await self._read(partition, answer.read, answer.stable, budget)
                if len(self._kept) > KEPT_MAX:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(at)
        return window

    async def _read(self, partition: Partition, first: int, stable: int, budget: Budget) -> KeyWindow:
        last = min(first + RECORDS_MAX, stable) - 1
        hashes = bytearray(HASH_BYTES * (last - first + 1))  # zeros for what is no record
        partition.offsets.answered.learn_end(stable)
        try:
            read = await partition.reader.read(first, committed=True, bytes_max=READ_BYTES, records_max=RECORDS_MAX)
        except OffsetOutOfRange:  # trimmed: the script skips it
            return KeyWindow(first, bytes(hashes))
        if read.entries and read.entries[0].base_offset > last:  # such as the gap after a loss (decision 0028)
            return KeyWindow(first, bytes(HASH_BYTES * min(read.entries[0].base_offset - first, GAP_MAX)))
        end = first
        for entry, payload in zip(read.entries, read.payloads, strict=True):
            if entry.base_offset > last:
                break
            end = min(entry.last_offset, last) + 1
            if entry.is_marker or not payload:
                continue
            keys = await self._keys(partition, entry, payload, budget)
            for offset in range(max(entry.base_offset, first), end):
                at = HASH_BYTES * (offset - first)
                hashes[at : at + HASH_BYTES] = hash_of(keys.get(offset - entry.base_offset), offset)
        if not read.entries:
            end = last + 1
        return KeyWindow(first, bytes(hashes[: HASH_BYTES * (end - first)]))

    async def _keys(
        self, partition: Partition, entry: LogEntry, payload: bytes | memoryview, budget: Budget
    ) -> dict[int, bytes | None]:
        """Keys by place in the batch; none of a batch that cannot be read, whose records are skipped when they are
        leased.  Raises DecodingBusy."""
        records = self._decoded.get(partition, entry)
        if records is None:
            try:
                records = await paced.decode(payload, budget)
            except UNREADABLE:
                return {}
            self._decoded.put(partition, entry, records)
        return {record.offset: record.key for record in records}
