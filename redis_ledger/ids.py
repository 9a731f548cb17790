"""Value types that name things: transactions, producers, partitions, messages.

One id space, three names (docs/decisions/0003):

    serial        number a coordinator hands out, one per transaction, never reused      0 .. 2^48-1
    TxnId         (coordinator, serial); text "3-3821040230400"; "(3,3821040230400)" is read as well
    producer id   coordinator << 48 | number; what Kafka calls producer id               0 .. 2^63-1
                  with bit 47 of the number: of a request with an Idempotency-Key (docs/decisions/0022)

A native transaction's producer id is its own TxnId, so its record batches carry it in their header and any
read_committed Kafka consumer can filter them.  Source: PIP-31 (TxnID), KIP-98 (producer id).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from redis_ledger.errors import InvalidPosition, InvalidRequest, InvalidTopicName, TransactionNotFound, UnknownScheduled

COORDINATORS_MAX = 1 << 15  # a producer id is a signed 64-bit number in Kafka's protocol
SERIAL_BITS = 48
SINCE_MS, EACH_MS = 1_735_689_600_000, 64  # how serials follow the clock: lua/include/id_allocation
NO_PRODUCER = -1
NO_EPOCH = -1
KEYED = 1 << 47  # marks producer ids that no client may name; the numbers of other ids stay below it until 2094

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}\Z")
_TXN = re.compile(r"(?:\(\s*)?(\d{1,5})\s*[-,]\s*(\d{1,15})\s*\)?\Z")
_MESSAGE = re.compile(r"(\d{1,9}):(\d{1,16})\Z")
_SCHEDULED = re.compile(r"(\d{1,9}):(\d{1,12})\.(\d{1,6})\Z")


class TxnId(NamedTuple):
    """A transaction: which coordinator began it, and its serial there."""

    coordinator: int
    serial: int

    @property
    def producer_id(self) -> int:
        return self.coordinator << SERIAL_BITS | self.serial

    @property
    def begun_ms(self) -> int:
        """It was begun at this time or later."""
        return SINCE_MS + self.serial // EACH_MS

    def __str__(self) -> str:
        return f"{self.coordinator}-{self.serial}"

    @classmethod
    def parse(cls, text: str) -> TxnId:
        """Reads "3-17" and "(3,17)".  Raises TransactionNotFound for anything else: no such transaction can exist."""
        found = _TXN.match(text)
        if found is None:
            raise TransactionNotFound(
                f"{text[:80]!r} is not a transaction id; use the id that POST /v1/transactions returned, "
                "such as 3-3821040230400."
            )
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def of_producer(cls, producer_id: int) -> TxnId:
        return cls(producer_id >> SERIAL_BITS, producer_id & ((1 << SERIAL_BITS) - 1))


def keyed(producer_id: int) -> int:
    """A fresh id as that of a request with an Idempotency-Key: no client can write under it."""
    return producer_id | KEYED


def is_keyed(producer_id: int) -> bool:
    return producer_id & KEYED != 0


def kept_for(seconds: int | None) -> str:
    """The owner of such an id, in its row: it says when the row may go.  None: after `idempotency_key_ms`."""
    return "" if seconds is None else f"~{seconds}"


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}"


class MessageId(NamedTuple):
    """One record of a topic, as receive returns it and ack takes it; text "2:1045".  Batch indexes need no name of
    their own, since every record has its offset."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}:{self.offset}"

    @classmethod
    def parse(cls, text: str) -> MessageId:
        found = _MESSAGE.match(text)
        if found is None:
            raise InvalidPosition(f"{text[:80]!r} is not a message id; ids look like 2:1045 (partition:offset).")
        return cls(int(found[1]), int(found[2]))


class ScheduledId(NamedTuple):
    """One scheduled record, from when it was scheduled on; text "0:17.2": record 2 of entry 17 of partition 0."""

    partition: int
    entry: int
    index: int  # type: ignore[assignment]  # tuple.index is not used

    def __str__(self) -> str:
        return f"{self.partition}:{self.entry}.{self.index}"

    @classmethod
    def parse(cls, text: str) -> ScheduledId:
        """Raises UnknownScheduled: no such record can exist."""
        found = _SCHEDULED.match(text)
        if found is None:
            raise UnknownScheduled(
                f"{text[:80]!r} is not the id of a scheduled record; ids look like 0:17.2 (partition:entry.index)."
            )
        return cls(int(found[1]), int(found[2]), int(found[3]))


def check_topic_name(name: str) -> str:
    """The name, if it is legal for Kafka and for us.  Raises InvalidTopicName."""
    if _TOPIC.match(name) is None or name in (".", ".."):
        raise InvalidTopicName(
            f"{name[:80]!r} is not a legal topic name; use 1 to 249 of a-z A-Z 0-9 . _ - and not . or .. alone."
        )
    return name


def check_subscription_name(name: str) -> str:
    """Any 1 to 200 printable characters; the name is percent-encoded wherever it becomes part of a key."""
    if not 1 <= len(name) <= 200 or not name.isprintable():
        raise InvalidRequest(f"{name[:80]!r} is not a subscription name; use 1 to 200 printable characters.")
    return name
