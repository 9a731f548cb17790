"""Where records go, and when what has gathered for a partition is sent: deciding only, no network.

    row ─→ placed ─→ lane (topic, partition) ─ batch_bytes, RECORDS_MAX or a change of kind ─→ Parcel, numbered on

The key decides the partition, by murmur2 as in Java's client.  Rows without a key go to one partition until a parcel of
them is full, then to the next.  Sequences are counted from 0 in each lane: a transaction is written by one task alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from redis_ledger.client.batches import RECORDS_MAX, Entry
from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TxnId
from redis_ledger.records.build import encode
from redis_ledger.records.partitioner import partition_for

HELD_BYTES_MAX = 32 << 20  # of one task, over all its lanes
NO_TOPIC = "A row has null in the column topic; say where it goes, or set the option topic."


def below_0(partition: int) -> str:
    return f"A row has {partition} in the column partition; partitions begin at 0."


class Row(NamedTuple):
    """A record as the columns say it; topic and partition None: not said."""

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


class _Lane:
    __slots__ = ("entries", "is_delayed", "sequence", "size")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.is_delayed = False
        self.sequence = self.size = 0


class Accumulator:
    """topic: of every row, or None.  partitions_of: how many a topic has.  first: where rows without a key begin."""

    def __init__(self, topic: str | None, partitions_of: Callable[[str], int], batch_bytes: int, first: int) -> None:
        self._topic, self._partitions_of, self._batch_bytes, self._turn = topic, partitions_of, batch_bytes, first
        self._counts: dict[str, int] = {}
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._held = 0

    def put(self, row: Row) -> Iterator[ReadyBatch]:
        """What is to be sent now.  Raises InvalidRequest for a row that says no topic, or a partition below 0."""
        place = self._place(row)
        lane = self._lanes.get(place)
        if lane is None:
            lane = self._lanes[place] = _Lane()
        entry, size = row.entry, row.entry.size
        is_delayed = entry.delivery is not None
        if lane.entries and (lane.is_delayed is not is_delayed or lane.size + size > self._batch_bytes):
            yield self._cut(place, lane)
        lane.is_delayed = is_delayed
        lane.entries.append(entry)
        lane.size += size
        self._held += size
        if lane.size >= self._batch_bytes or len(lane.entries) >= RECORDS_MAX:
            yield self._cut(place, lane)
            if entry.key is None:
                self._turn += 1
        if self._held >= HELD_BYTES_MAX:
            yield from self.rest()

    def rest(self) -> Iterator[ReadyBatch]:
        """All that is held."""
        for place, lane in self._lanes.items():
            if lane.entries:
                yield self._cut(place, lane)

    def _place(self, row: Row) -> tuple[str, int]:
        topic = self._topic or row.topic
        if topic is None:
            raise InvalidRequest(NO_TOPIC)
        if row.partition is not None:
            if row.partition < 0:
                raise InvalidRequest(below_0(row.partition))
            return topic, row.partition
        count = self._counts.get(topic)
        if count is None:
            count = self._counts[topic] = self._partitions_of(topic)
        key = row.entry.key
        return topic, self._turn % count if key is None else partition_for(key, count)

    def _cut(self, place: tuple[str, int], lane: _Lane) -> ReadyBatch:
        parcel = ReadyBatch(*place, lane.sequence, lane.entries, lane.is_delayed)
        lane.sequence += len(lane.entries)
        self._held -= lane.size
        lane.entries, lane.size = [], 0
        return parcel
