"""Plain reading of one partition, without a subscription: raw batches in, messages out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

from redis_ledger.client._async.transport import BATCH, AsyncTransport, path
from redis_ledger.client.models import Isolation, Message
from redis_ledger.records.batch import split
from redis_ledger.records.read import decode_range

NEXT_OFFSET = "redis-ledger-next-offset"
END_OFFSETS = {"read_committed": "redis-ledger-stable-offset", "read_uncommitted": "redis-ledger-end-offset"}
LAST = (1 << 63) - 1


async def read(
    transport: AsyncTransport,
    topic: str,
    partition: int,
    offset: int | Literal["earliest", "latest"],
    *,
    isolation: Isolation,
    wait_ms: int,
    max_bytes: int,
) -> AsyncIterator[Message]:
    """Messages in offset order.  Ends when the end is reached and nothing more has come within wait_ms."""
    while True:
        response = await transport.send(
            "GET",
            path("topics", topic, "partitions", partition, "records"),
            headers={"accept": BATCH},
            params={"offset": offset, "isolation": isolation, "wait_ms": wait_ms, "max_bytes": max_bytes},
            wait_ms=wait_ms,
        )
        next_offset = int(response.headers[NEXT_OFFSET])
        for header, batch in split(response.content):
            if header.is_control:
                continue
            # The first batch may begin before the offset asked for.
            first = offset if isinstance(offset, int) else header.base_offset
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
        is_at_end = next_offset == offset or next_offset >= int(response.headers[END_OFFSETS[isolation]])
        if not response.content and is_at_end:
            return
        offset = next_offset
