"""Plain reading of one partition, without a subscription: raw batches in, messages out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from redis_ledger.client._sync.transport import BATCH, Transport, path
from redis_ledger.client.models import Isolation, Message, RecordBatches
from redis_ledger.records.batch import split
from redis_ledger.records.read import decode_range

Start: TypeAlias = "int | Literal['earliest', 'latest']"
LAST = (1 << 63) - 1


def fetch(
    transport: Transport,
    topic: str,
    partition: int,
    offset: Start,
    *,
    isolation: Isolation,
    wait_ms: int,
    max_bytes: int,
) -> RecordBatches:
    """One answer: batches from the one that holds the offset on, as many as fit, and always one if there is any."""
    response = transport.send(
        "GET",
        path("topics", topic, "partitions", partition, "records"),
        headers={"accept": BATCH},
        params={"offset": offset, "isolation": isolation, "wait_ms": wait_ms, "max_bytes": max_bytes},
        wait_ms=wait_ms,
    )
    told = response.headers
    return RecordBatches(
        response.content,
        int(told["redis-ledger-next-offset"]),
        int(told["redis-ledger-start-offset"]),
        int(told["redis-ledger-stable-offset"]),
        int(told["redis-ledger-end-offset"]),
    )


def read(
    transport: Transport,
    topic: str,
    partition: int,
    offset: Start,
    *,
    isolation: Isolation,
    wait_ms: int,
    max_bytes: int,
) -> Iterator[Message]:
    """Messages in offset order.  Ends when the end is reached and nothing more has come within wait_ms."""
    while True:
        fetched = fetch(transport, topic, partition, offset, isolation=isolation, wait_ms=wait_ms, max_bytes=max_bytes)
        # The first batch may begin before the offset asked for, and before the log start.
        first = max(offset if isinstance(offset, int) else 0, fetched.start_offset)
        for header, batch in split(fetched.data):
            if header.is_control:
                continue
            for record in decode_range(batch, first, LAST):
                yield Message(
                    topic=topic,
                    partition=partition,
                    offset=record.offset,
                    key=record.key,
                    value=record.value,
                    headers=dict(record.headers),
                    timestamp_ms=record.timestamp_ms,
                )
        is_at_end = fetched.next_offset == offset or fetched.next_offset >= fetched.readable_end(isolation)
        if not fetched.data and is_at_end:
            return
        offset = fetched.next_offset
