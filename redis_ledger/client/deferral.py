"""Whether a record of a transaction waits for the commit: deciding only.

    all records fit one batch of one partition   they wait, and the commit appends that batch
    anything else                                the transaction begins, and what waits is sent in it

Source: PIP-31 "future work"; requirement CL-17.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from redis_ledger.client.batches import RECORDS_MAX, Entry


class BeginReason(Enum):
    """Why a transaction begins with a record."""

    SCHEDULED = "the record is to be delivered later"
    TOO_LARGE = "the record is larger than a batch"
    OTHER_PARTITION = "it is the second partition"
    BATCH_FULL = "the records do not fit one batch"
    BUFFER_FULL = "the records that wait in this client are as many bytes as may wait"


class Waiting(NamedTuple):
    """The records of a transaction that wait.  size: bytes."""

    topic: str
    partition: int
    records: int
    size: int


class Limits(NamedTuple):
    """batch_bytes: of the producer.  buffer_bytes: of all transactions of the client together."""

    batch_bytes: int
    buffer_bytes: int


def begin_reason(
    waiting: Waiting | None, topic: str, partition: int, entry: Entry, limits: Limits, buffered: int
) -> BeginReason | None:
    """None if the record waits.  buffered: bytes that wait in all transactions of the client."""
    if entry.delivery is not None:
        return BeginReason.SCHEDULED
    if entry.size > limits.batch_bytes:
        return BeginReason.TOO_LARGE
    if waiting is not None and (waiting.topic, waiting.partition) != (topic, partition):
        return BeginReason.OTHER_PARTITION
    if waiting is not None and (waiting.size + entry.size > limits.batch_bytes or waiting.records >= RECORDS_MAX):
        return BeginReason.BATCH_FULL
    if buffered + entry.size > limits.buffer_bytes:
        return BeginReason.BUFFER_FULL
    return None
