"""Where a partition is."""

from __future__ import annotations

from typing import NamedTuple

from redis_ledger.store.keys import PartitionKeys


class Place(NamedTuple):
    """A partition of the catalog."""

    topic: str
    topic_id: str
    number: int
    keys: PartitionKeys

    def __str__(self) -> str:
        return f"{self.topic}:{self.number}"
