"""The result of a read of a partition."""

from __future__ import annotations

from typing import NamedTuple

from redis_ledger.ledger.entries import Aborted, LogEntry
from redis_ledger.ledger.partition_offsets import PartitionHead


class Read(NamedTuple):
    """entries in offset order; payloads in the same order, empty for markers and for batches that were reclaimed.
    leads_to_batch: the entry after the last one is known to be a batch that this reader may read."""

    head: PartitionHead
    entries: list[LogEntry]
    payloads: list[bytes | memoryview]
    aborted: list[Aborted]
    leads_to_batch: bool = False


class Moved(Exception):
    """The payload is in Parquet, and no more in Redis."""


class PayloadReclaimed(Exception):
    """Payload of aborted transactions has been given back since the reader learned up to where.  It knows now: read
    again."""
