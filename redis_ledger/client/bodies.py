"""JSON bodies of the REST interface, and back: the only place in the SDK that knows how bytes look in JSON."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from redis_ledger.client.batches import Entry
from redis_ledger.client.deliveries import delivery_of
from redis_ledger.client.joint import AckSource, Part
from redis_ledger.client.models import (
    Message,
    PlacedRecord,
    Record,
    ScheduledPosition,
    ScheduledRecord,
)
from redis_ledger.client.values import header_pairs, key_bytes, value_bytes
from redis_ledger.errors import UnexpectedAnswer
from redis_ledger.ids import ScheduledId

ABSENT = msgspec.Raw(b"")


class RecordBody(msgspec.Struct):
    """A record in an answer.  Exactly one of value, text and base64 is there; none of them is a null value."""

    offset: int
    timestamp_ms: int = -1
    partition: int = -1
    redelivery_count: int = 0
    key: str | None = None
    key_base64: str | None = None
    value: msgspec.Raw = ABSENT
    text: str | None = None
    base64: str | None = None
    headers: dict[str, str | None] | None = None
    headers_base64: dict[str, str | None] | list[tuple[str, str | None]] | None = None


class ScheduledBody(RecordBody, kw_only=True):
    offset: int = -1
    id: str
    deliver_at_ms: int
    repeat: str | None = None
    until_ms: int | None = None
    times_left: int | None = None


class SkippedBody(msgspec.Struct):
    partition: int
    first_offset: int
    last_offset: int
    detail: str = ""


class MessagesBody(msgspec.Struct):
    messages: list[RecordBody]
    skipped: list[SkippedBody] = []
    reason: str | None = None


class ResultBody(msgspec.Struct):
    partition: int
    base_offset: int
    records: int
    duplicate: bool = False
    scheduled: list[PlacedRecord] = []


class ProducedBody(msgspec.Struct):
    results: Annotated[list[ResultBody], msgspec.Meta(min_length=1)]


class ProducerBody(msgspec.Struct):
    producer_id: int
    epoch: int


def places_of(results: Sequence[ResultBody]) -> tuple[list[int], list[ScheduledPosition]]:
    """The offsets of what was written, and where the rest waits."""
    offsets = [r.base_offset + place for r in results if r.base_offset >= 0 for place in range(r.records)]
    return offsets, [ScheduledPosition(ScheduledId.parse(p.id), p.deliver_at_ms) for r in results for p in r.scheduled]


def message_of(body: RecordBody, topic: str, leased_until_s: float = 0.0) -> Message:
    key, value, headers = _contents(body)
    return Message(
        topic=topic,
        partition=body.partition,
        offset=body.offset,
        key=key,
        value=value,
        headers=dict(headers),
        all_headers=headers,
        timestamp_ms=body.timestamp_ms,
        redelivery_count=body.redelivery_count,
        leased_until_s=leased_until_s,
    )


def scheduled_of(body: ScheduledBody, topic: str) -> ScheduledRecord:
    key, value, headers = _contents(body)
    return ScheduledRecord(
        topic=topic,
        id=ScheduledId.parse(body.id),
        deliver_at_ms=body.deliver_at_ms,
        timestamp_ms=body.timestamp_ms,
        key=key,
        value=value,
        headers=dict(headers),
        all_headers=headers,
        repeat=body.repeat,
        until_ms=body.until_ms,
        times_left=body.times_left,
    )


def _contents(body: RecordBody) -> tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]:
    """Key, value and headers."""
    value: bytes | None = bytes(body.value)
    if body.base64 is not None:
        value = _from_base64(body.base64)
    elif body.text is not None:
        value = body.text.encode()
    elif value in (b"", b"null"):
        value = None
    headers: list[tuple[str, bytes | None]] = []
    for name, text in (body.headers or {}).items():
        headers.append((name, None if text is None else text.encode()))
    others = body.headers_base64 or ()
    for name, text in others.items() if isinstance(others, dict) else others:
        headers.append((name, None if text is None else _from_base64(text)))
    key = _from_base64(body.key_base64) if body.key_base64 is not None else key_bytes(body.key)
    return key, value, tuple(headers)


def _from_base64(text: str) -> bytes:
    try:
        return b64decode(text)
    except ValueError as error:
        raise UnexpectedAnswer(f"The answer holds {text!r:.60}, which is not base64 ({error}).") from error


def body_of(record: Record) -> dict[str, Any]:
    """A record as POST bodies take it; bytes go as base64, so that what is read is what was given."""
    body = contents_body(key_bytes(record.key), value_bytes(record.value), header_pairs(record.headers))
    if record.partition is not None:
        body["partition"] = record.partition
    if record.timestamp_ms is not None:
        body["timestamp_ms"] = record.timestamp_ms
    delivery = delivery_of(record.deliver_at, record.deliver_after)
    return body if delivery is None else {**body, **delivery.members()}


def record_body(entry: Entry) -> dict[str, Any]:
    """A record of a producer, without its partition, which is the request's."""
    body = contents_body(entry.key, entry.value, entry.headers)
    if entry.timestamp_ms >= 0:
        body["timestamp_ms"] = entry.timestamp_ms
    return body if entry.delivery is None else {**body, **entry.delivery.members()}


def step_body(parts: Sequence[Part]) -> dict[str, Any]:
    """The body of `transactions:execute`: records in the order of the parts."""
    records: dict[str, list[dict[str, Any]]] = {}
    acks: dict[AckSource, list[str]] = {}
    for part in parts:
        for (topic, partition), batch in part.batches.items():
            of_topic = records.setdefault(topic, [])
            for entry in batch.entries:
                body = record_body(entry)
                body["partition"] = partition
                of_topic.append(body)
        for source, ids in part.acks.items():
            acks.setdefault(source, []).extend(map(str, ids))
    return {
        "acks": [
            {"topic": topic, "subscription": subscription, "consumer": consumer, "ids": ids}
            for (topic, subscription, consumer), ids in acks.items()
        ],
        "records": [{"topic": topic, "records": bodies} for topic, bodies in records.items()],
        "timeout_ms": min(part.timeout_ms for part in parts),
    }


def contents_body(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]]
) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if value is not None:
        body.update(_bytes_body("text", "base64", value))
    if key is not None:
        body.update(_bytes_body("key", "key_base64", key))
    if headers:
        body["headers_base64"] = headers_body(headers)
    return body


def headers_body(headers: Sequence[tuple[str, bytes | None]]) -> Any:
    """By name, or as pairs where a name repeats."""
    texts = [(name, None if held is None else b64encode(held).decode()) for name, held in headers]
    named = dict(texts)
    return named if len(named) == len(texts) else texts


def _bytes_body(text_name: str, base64_name: str, held: bytes) -> dict[str, str]:
    try:
        return {text_name: held.decode()}
    except UnicodeDecodeError:
        return {base64_name: binascii.b2a_base64(held, newline=False).decode()}
