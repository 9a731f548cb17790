"""Keys, values and headers between JSON and bytes.

    request                         stored                    response
    "value": {"a": 1}           →   b'{"a": 1}'           →   "value": {"a": 1}      the JSON text itself, untouched
    "text": "grüß"              →   UTF-8                 →   "text": "grüß"
    "base64": "/w=="            →   b"\\xff"               →   "base64": "/w=="
    "value": null, or nothing   →   no value (tombstone)  →   "value": null
    "text": "null"              →   b"null"               →   "text": "null"         not a tombstone
    "text": "1.10"              →   b"1.10"               →   "value": 1.10          "text": "1.10" with as=text

The form in which a value was produced is not stored, so by default (as=auto) its content decides in which member it is
returned.  The reader may choose: as=text returns UTF-8 as text even if it is JSON, as=base64 returns every value as
base64.

JSON values are never parsed into Python objects: msgspec validates them and returns their bytes.  It is recursive, so
the depth is limited here: deeper values are rejected in requests and returned as text in responses.
"""

from __future__ import annotations

import msgspec

from redis_ledger.app.http.json_depth import DEPTH_MAX, is_too_deep
from redis_ledger.app.http.schemas.core import HeadersBase64, RecordIn
from redis_ledger.app.http.schemas.core import Skipped as SkippedOut
from redis_ledger.app.http.times import delivery
from redis_ledger.broker.types import Headers, NewRecord, Skipped
from redis_ledger.errors import InvalidJson, InvalidRequest

ASIDE_BYTES = 256 << 10  # larger values are examined in a thread
_read_json = msgspec.json.Decoder(msgspec.Raw).decode
_TOMBSTONE = msgspec.Raw(b"null")
ValueFields = tuple[msgspec.Raw | msgspec.UnsetType, str | msgspec.UnsetType, bytes | msgspec.UnsetType]


def parse_record(record: RecordIn, where: str, index: int, partition: int | None = None) -> NewRecord:
    """where, index: the record's position in the body, for errors; -1: not in a list.  partition: of the request."""
    if record.partition is not None:
        if partition is not None and partition != record.partition:
            raise InvalidRequest(
                f"{json_path(where, index)}.partition is {record.partition}, but the request has partition "
                f"{partition}; give one of them."
            )
        partition = record.partition
    key = record.key_base64
    if record.key is not None:
        if key is not None:
            raise InvalidRequest(f"{json_path(where, index)} has both key and key_base64; give one of them.")
        key = record.key.encode()
    headers: Headers = ()
    if record.headers or record.headers_base64:
        headers = [(name, text.encode()) for name, text in (record.headers or {}).items()]
        others = record.headers_base64 or ()
        headers.extend(others.items() if isinstance(others, dict) else others)
    found = NewRecord(key, _value(record, where, index), headers, partition, record.timestamp_ms)
    if record.deliver_at is None and record.deliver_after is None:
        return found
    at_ms, after_ms = delivery(record.deliver_at, record.deliver_after, json_path(where, index))
    return found._replace(deliver_at_ms=at_ms, deliver_after_ms=after_ms)


def is_large(record: RecordIn) -> bool:
    """Whether the value is large enough to be examined in a thread."""
    return isinstance(record.value, msgspec.Raw) and len(memoryview(record.value)) > ASIDE_BYTES


def json_path(where: str, index: int) -> str:
    return where if index < 0 else f"{where}[{index}]"


def _value(record: RecordIn, where: str, index: int) -> bytes | None:
    raw, text, data = record.value, record.text, record.base64
    if raw is msgspec.UNSET:
        if text is None:
            return data
        if data is None:
            return text.encode()
    elif text is None and data is None:
        return _json_value(bytes(raw), where, index)
    raise InvalidRequest(f"{json_path(where, index)} has more than one of value, text and base64; give one of them.")


def _json_value(value: bytes, where: str, index: int) -> bytes | None:
    if value == b"null":
        return None
    if value[0] in b"[{" and is_too_deep(value):
        raise InvalidJson(
            f"{json_path(where, index)}.value is nested deeper than {DEPTH_MAX}; flatten it, or send it as text."
        )
    if not value.isascii():
        try:
            value.decode()
        except UnicodeDecodeError:
            raise InvalidJson(f"{json_path(where, index)}.value is not valid UTF-8; send bytes as base64.") from None
    return value


def value_to_body(value: bytes | None, form: str = "auto") -> ValueFields:
    """value, text, base64: exactly one of them set.  form: auto, text or base64."""
    if value is None:
        return _TOMBSTONE, msgspec.UNSET, msgspec.UNSET
    if form == "base64":
        return msgspec.UNSET, msgspec.UNSET, value
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return msgspec.UNSET, msgspec.UNSET, value
    if form == "text":
        return msgspec.UNSET, text, msgspec.UNSET
    if value != b"null" and not (value[:1] in b"[{ \t\r\n" and is_too_deep(value)):
        try:
            raw = _read_json(value)
            if len(bytes(raw)) == len(value):  # surrounding spaces belong to the value; text keeps them
                return raw, msgspec.UNSET, msgspec.UNSET
        except (msgspec.DecodeError, RecursionError):
            pass  # not JSON; returned as text
    return msgspec.UNSET, text, msgspec.UNSET


def skipped_to_body(each: Skipped) -> SkippedOut:
    return SkippedOut(
        partition=each.partition, first_offset=each.first_offset, last_offset=each.last_offset,
        code=each.error.code, detail=each.error.detail,
    )  # fmt: skip


def key_to_body(key: bytes | None) -> tuple[str | msgspec.UnsetType, bytes | msgspec.UnsetType]:
    """key, key_base64: at most one of them set."""
    if key is None:
        return msgspec.UNSET, msgspec.UNSET
    try:
        return key.decode(), msgspec.UNSET
    except UnicodeDecodeError:
        return msgspec.UNSET, key


def repeats(headers: Headers) -> bool:
    """Whether a name repeats."""
    return len(headers) > 1 and len(dict(headers)) != len(headers)


def headers_to_body(
    headers: Headers,
) -> tuple[dict[str, str] | msgspec.UnsetType, HeadersBase64 | msgspec.UnsetType]:
    """Returns headers, headers_base64.  Where a name repeats, the second has all of them in order, as pairs."""
    if repeats(headers):
        return msgspec.UNSET, list(headers)
    texts: dict[str, str] = {}
    others: dict[str, bytes | None] = {}
    for name, value in headers:
        try:
            if value is not None:
                texts[name] = value.decode()
                continue
        except UnicodeDecodeError:
            pass  # not UTF-8; returned as base64
        others[name] = value
    return texts or msgspec.UNSET, others or msgspec.UNSET
