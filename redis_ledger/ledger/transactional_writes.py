"""Partitions that this broker has written transactional records or markers to, since the last snapshot of their buffer.

A partition is noted with the time of its first write and the number of its ends, until it is taken out.  Only memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple


class WrittenPartition(NamedTuple):
    topic: str
    number: int
    topic_id: str


@dataclass
class Writes:
    """Since the partition was taken out last."""

    since_s: float = field(default_factory=time.monotonic)
    ends: int = 0


class TransactionalWrites:
    def __init__(self) -> None:
        self.by_partition: dict[WrittenPartition, Writes] = {}

    def noting(self, topic: str, number: int, topic_id: str) -> Callable[[], object]:
        """A function that notes a write to the partition."""
        return partial(self._note, WrittenPartition(topic, number, topic_id))

    def ended(self, topic: str, number: int, topic_id: str) -> None:
        """Notes a marker."""
        self._note(WrittenPartition(topic, number, topic_id)).ends += 1

    def _note(self, partition: WrittenPartition) -> Writes:
        writes = self.by_partition.get(partition)
        if writes is None:
            writes = self.by_partition[partition] = Writes()
        return writes

    def take(self, partition: WrittenPartition) -> Writes:
        return self.by_partition.pop(partition, None) or Writes()

    def put_back(self, partition: WrittenPartition, writes: Writes) -> None:
        """With those that were noted since."""
        newer = self.by_partition.get(partition)
        self.by_partition[partition] = Writes(writes.since_s, writes.ends + (newer.ends if newer else 0))
