"""The response of a receive: messages as JSON.  Large ones are encoded in a thread and sent in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import UNSET

from redis_ledger.app.http.json_stream import LARGE_BYTES, LargeRecord, large_record, record_bytes, stream_records
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.schemas import subscriptions as bodies
from redis_ledger.app.http.values import headers_to_body, key_to_body, skipped_to_body, value_to_body
from redis_ledger.broker.types import Message, Skipped
from redis_ledger.decoding.budget import Pace


async def received(
    request: HttpRequest, messages: Sequence[Message], skipped: Sequence[Skipped], reasons: Collection[str], form: str
) -> Any:
    """reasons: why there are no more messages.  form: the form of values, as in `value_to_body`."""
    pace, found, total = Pace(), list[Any](), 0
    for message in messages:
        size = record_bytes(message.key, message.value, message.headers)
        total += size
        if size > LARGE_BYTES:
            found.append(await asyncio.to_thread(_large_message, message, form))
        else:
            found.append(_message(message, form))
        if pace.is_over:
            await pace.rest()
    reason: Any = min(reasons, default=UNSET)
    answer = bodies.Received(
        messages=found, skipped=[skipped_to_body(each) for each in skipped] or UNSET, reason=reason
    )
    if total <= LARGE_BYTES:
        return answer
    request.decoded_lease().hold(total)
    return stream_records("messages", answer, total)


def _message(message: Message, form: str) -> bodies.Message:
    key, key_base64 = key_to_body(message.key)
    value, text, base64 = value_to_body(message.value, form)
    headers, headers_base64 = headers_to_body(message.headers)
    return bodies.Message(
        id=str(message.id), partition=message.id.partition, offset=message.id.offset,
        redelivery_count=message.deliveries, timestamp_ms=message.timestamp_ms, key=key, key_base64=key_base64,
        value=value, text=text, base64=base64, headers=headers, headers_base64=headers_base64,
    )  # fmt: skip


def _large_message(message: Message, form: str) -> LargeRecord:
    small = bodies.Message(
        id=str(message.id), partition=message.id.partition, offset=message.id.offset,
        redelivery_count=message.deliveries, timestamp_ms=message.timestamp_ms,
    )  # fmt: skip
    return large_record(small, message.key, message.value, message.headers, form)
