"""Traces of records: finds `traceparent` headers in batches as they are stored.

Called only with a tracer.  Reads the first RECORDS records of a batch, and BATCHES batches of a request.  Batches above
BYTES_MAX, compressed or not, are skipped; an uncompressed batch without the word costs one search.
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
LIMITS = Limits(BYTES_MAX, record_headers=1_000, headers=100_000)  # of a batch that is decoded
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
            continue  # the produce or fetch itself raises it
    return found


def produced(topic: str, partition: int, batch: bytes | memoryview) -> None:
    """Called for a batch of a Kafka client."""
    if found := in_batches([batch]):
        header = read_header(batch)
        key = header.producer_id if header.is_transactional else None
        tracing.passed("produce", topic, partition, found, key)


def received(topic: str, partition: int, batches: Iterable[bytes | memoryview]) -> None:
    if found := in_batches(batches):
        tracing.passed("receive", topic, partition, found)


def delivered(topic: str, messages: Iterable[Message]) -> None:
    """Called for messages of a subscription."""
    found: dict[int, list[bytes]] = {}
    for message in list(messages)[: RECORDS * BATCHES]:
        found.setdefault(message.id.partition, []).extend(in_headers(message.headers))
    for partition, traceparents in found.items():
        tracing.passed("receive", topic, partition, traceparents[:RECORDS])


def carrying(records: list[NewRecord]) -> list[NewRecord]:
    """Adds the current request's context to records that have none."""
    header = tracing.header()
    if header is None:
        return records
    return [
        each if any(name == tracing.TRACEPARENT for name, _ in each.headers)
        else each._replace(headers=(*each.headers, header))
        for each in records
    ]  # fmt: skip


def wrote(transaction: TxnId | None) -> None:
    """Called when the current request has written in this transaction."""
    if transaction is not None:
        tracing.remember(transaction.producer_id)
