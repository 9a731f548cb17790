"""Record accumulator of a task: assigns rows to partitions and decides when a batch is full.  No network.

    row ─→ partition ─→ buffer (topic, partition) ─ batch_bytes, RECORDS_MAX or a change of kind ─→ ReadyBatch

The partition is murmur2 of the key, as in Java's client.  Rows without a key go to one partition until a batch of them
is full, then to the next.  Sequences start at 0 in each partition, since only one task writes a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from redis_ledger.client.batches import RECORDS_MAX, Entry
from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TxnId
from redis_ledger.records.build import encode
from redis_ledger.records.partitioner import partition_for

HELD_BYTES_MAX = 32 << 20  # per task, over all its partitions
NO_TOPIC = "A row has null in the column topic; set a topic in the row, or set the option topic."


def negative_partition(partition: int) -> str:
    return f"A row has {partition} in the column partition; partitions start at 0."


class Row(NamedTuple):
    """A record and the values of its columns topic and partition; None: null or missing."""

    topic: str | None
    partition: int | None
    entry: Entry


class ReadyBatch(NamedTuple):
    """Records of one partition that are sent together.  sequence: of the first."""

    topic: str
    partition: int
    sequence: int
    entries: list[Entry]
    is_delayed: bool

    def batch(self, compression: int, txn: TxnId) -> bytes:
        return encode(
            [entry[:4] for entry in self.entries],
            compression=compression,
            producer_id=txn.producer_id,
            epoch=0,
            sequence=self.sequence,
            transactional=True,
        )


class _PartitionBuffer:
    __slots__ = ("entries", "is_delayed", "sequence", "size")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.is_delayed = False
        self.sequence = self.size = 0


class Accumulator:
    """Buffers rows by partition.

    topic           of every row; None: from the column topic
    partitions_of   returns the number of partitions of a topic
    first           the first partition for rows without a key
    """

    def __init__(self, topic: str | None, partitions_of: Callable[[str], int], batch_bytes: int, first: int) -> None:
        self._topic, self._partitions_of, self._batch_bytes, self._turn = topic, partitions_of, batch_bytes, first
        self._counts: dict[str, int] = {}
        self._buffers: dict[tuple[str, int], _PartitionBuffer] = {}
        self._held = 0

    def put(self, row: Row) -> Iterator[ReadyBatch]:
        """Yields batches that are full.  Raises InvalidRequest for a row without a topic, or a partition below 0."""
        partition = self._assign(row)
        buffer = self._buffers.get(partition)
        if buffer is None:
            buffer = self._buffers[partition] = _PartitionBuffer()
        entry, size = row.entry, row.entry.size
        is_delayed = entry.delivery is not None
        if buffer.entries and (buffer.is_delayed is not is_delayed or buffer.size + size > self._batch_bytes):
            yield self._cut(partition, buffer)
        buffer.is_delayed = is_delayed
        buffer.entries.append(entry)
        buffer.size += size
        self._held += size
        if buffer.size >= self._batch_bytes or len(buffer.entries) >= RECORDS_MAX:
            yield self._cut(partition, buffer)
            if entry.key is None:
                self._turn += 1
        if self._held >= HELD_BYTES_MAX:
            yield from self.drain()

    def drain(self) -> Iterator[ReadyBatch]:
        """Yields all buffered records."""
        for partition, buffer in self._buffers.items():
            if buffer.entries:
                yield self._cut(partition, buffer)

    def _assign(self, row: Row) -> tuple[str, int]:
        topic = self._topic or row.topic
        if topic is None:
            raise InvalidRequest(NO_TOPIC)
        if row.partition is not None:
            if row.partition < 0:
                raise InvalidRequest(negative_partition(row.partition))
            return topic, row.partition
        count = self._counts.get(topic)
        if count is None:
            count = self._counts[topic] = self._partitions_of(topic)
        key = row.entry.key
        return topic, self._turn % count if key is None else partition_for(key, count)

    def _cut(self, partition: tuple[str, int], buffer: _PartitionBuffer) -> ReadyBatch:
        batch = ReadyBatch(*partition, buffer.sequence, buffer.entries, buffer.is_delayed)
        buffer.sequence += len(buffer.entries)
        self._held -= buffer.size
        buffer.entries, buffer.size = [], 0
        return batch
