"""Whether a record or an acknowledgement of a transaction waits for the commit: deciding only.

    all records fit one batch of one partition            they wait, and the commit appends that batch
    records of several partitions, acknowledgements       they wait, and the commit is one `transactions:execute`
    more than one request may carry, a lease that ends    the transaction begins, and what waits is sent in it

Source: PIP-31 "future work"; requirement CL-17; docs/decisions/0050.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from redis_ledger.client.batches import RECORDS_MAX, Entry
from redis_ledger.client.models import Message

HOLD_S_MAX = 10.0  # how long an acknowledgement waits at most
HOLD_S_UNKNOWN = 1.0  # the same if only ids are given, so that the end of the lease is not known
HOLD_S_MIN = 0.25  # an acknowledgement that may wait for less is sent at once


class BeginReason(Enum):
    """Why a transaction begins with a record or an acknowledgement."""

    SCHEDULED = "the record is to be delivered later"
    TOO_LARGE = "the record is larger than a batch"
    FULL = "the records and acknowledgements are more than one request may carry"
    BATCH_ONLY = "a compressed record, or one that repeats a header, fits a batch and not a step"
    BUFFER_FULL = "the records that wait in this client are as many bytes as may wait"
    LEASE_SHORT = "the lease of a message ends too soon"


class Waiting(NamedTuple):
    """What waits in a transaction.

    places         topics and partitions of the records
    size           bytes of the records
    ids            messages whose acknowledgement waits
    is_batch_only  one of the records can be sent in a batch only
    """

    places: frozenset[tuple[str, int]] = frozenset()
    records: int = 0
    size: int = 0
    ids: int = 0
    is_batch_only: bool = False


class Limits(NamedTuple):
    """batch_bytes: of the producer.  buffer_bytes: of all transactions of the client together."""

    batch_bytes: int
    buffer_bytes: int


def begin_reason(
    waiting: Waiting, topic: str, partition: int, entry: Entry, is_compressed: bool, limits: Limits, buffered: int
) -> BeginReason | None:
    """None if the record waits.  buffered: bytes that wait in all transactions of the client."""
    if entry.delivery is not None:
        return BeginReason.SCHEDULED
    size = entry.size
    if size > limits.batch_bytes:
        return BeginReason.TOO_LARGE
    if waiting.size + size > limits.batch_bytes or waiting.records + waiting.ids >= RECORDS_MAX:
        return BeginReason.FULL
    if waiting.is_batch_only or is_compressed:
        is_step = waiting.ids > 0 or bool(waiting.places - {(topic, partition)})
        if is_step:
            return BeginReason.BATCH_ONLY
    if buffered + size > limits.buffer_bytes:
        return BeginReason.BUFFER_FULL
    return None


def begin_reason_of_ack(waiting: Waiting, ids: int, hold_s: float) -> BeginReason | None:
    """None if the acknowledgement of so many messages waits.  hold_s: as `hold_s` returns."""
    if waiting.records + waiting.ids + ids > RECORDS_MAX:
        return BeginReason.FULL
    if waiting.is_batch_only:
        return BeginReason.BATCH_ONLY
    return BeginReason.LEASE_SHORT if hold_s < HOLD_S_MIN else None


def hold_s(messages: Any, now_s: float) -> float:
    """How long the acknowledgement of these messages may wait: half of what is left of the shortest lease."""
    if isinstance(messages, Message):
        messages = (messages,)
    if isinstance(messages, str):
        return HOLD_S_UNKNOWN
    ends_s = [each.leased_until_s if isinstance(each, Message) else 0.0 for each in messages]
    until_s = min(ends_s, default=0.0)
    return min((until_s - now_s) / 2, HOLD_S_MAX) if until_s else HOLD_S_UNKNOWN
