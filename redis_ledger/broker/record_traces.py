"""Traces of records: what their `traceparent` headers say, found in batches as they are stored.

Called only while there is a tracer.  Of a batch, the first RECORDS records are looked at, of a request BATCHES
batches; one larger than BYTES_MAX, packed or not, is left alone, and one that does not hold the word at all costs a
search for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from redis_ledger.broker.types import Message, NewRecord
from redis_ledger.errors import LedgerError
from redis_ledger.ids import TxnId
from redis_ledger.records.batch import read_header
from redis_ledger.records.budget import Limits
from redis_ledger.records.read import Record, Unread
from redis_ledger.telemetry import tracing

RECORDS, BATCHES, BYTES_MAX = 8, 8, 1 << 20
LIMITS = Limits(BYTES_MAX, record_headers=1_000, headers=100_000)  # what has more is not worth looking at
_WORD = tracing.TRACEPARENT.encode()

Headers = Iterable[tuple[str, bytes | None]]


def in_headers(headers: Headers) -> Iterator[bytes]:
    for name, value in headers:
        if name == tracing.TRACEPARENT and value is not None:
            yield value


def in_records(records: Iterable[Record]) -> list[bytes]:
    return [each for record in list(records)[:RECORDS] for each in in_headers(record.headers)]


def in_batches(batches: Iterable[bytes | memoryview]) -> list[bytes]:
    found: list[bytes] = []
    for batch in list(batches)[:BATCHES]:
        if not batch or len(batch) > BYTES_MAX:
            continue
        try:
            if read_header(batch).compression or _WORD in bytes(batch):
                found += in_records(next(Unread(batch, LIMITS).slices(), []))
        except LedgerError:
            continue  # who writes or reads it is told
    return found


def produced(topic: str, partition: int, batch: bytes | memoryview) -> None:
    """By a Kafka client."""
    if found := in_batches([batch]):
        header = read_header(batch)
        key = header.producer_id if header.is_transactional else None
        tracing.passed("produce", topic, partition, found, key)


def received(topic: str, partition: int, batches: Iterable[bytes | memoryview]) -> None:
    if found := in_batches(batches):
        tracing.passed("receive", topic, partition, found)


def delivered(topic: str, messages: Iterable[Message]) -> None:
    """To a consumer of a subscription."""
    found: dict[int, list[bytes]] = {}
    for message in list(messages)[: RECORDS * BATCHES]:
        found.setdefault(message.id.partition, []).extend(in_headers(message.headers))
    for partition, traceparents in found.items():
        tracing.passed("receive", topic, partition, traceparents[:RECORDS])


def carrying(records: list[NewRecord]) -> list[NewRecord]:
    """The same with the context of the request under way; a record that has one of its own keeps it."""
    header = tracing.header()
    if header is None:
        return records
    return [
        each if any(name == tracing.TRACEPARENT for name, _ in each.headers)
        else each._replace(headers=(*each.headers, header))
        for each in records
    ]  # fmt: skip


def wrote(transaction: TxnId | None) -> None:
    """The request under way wrote in this transaction."""
    if transaction is not None:
        tracing.remember(transaction.producer_id)
