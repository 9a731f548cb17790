"""Large records are encoded in pieces, into the JSON that they are shown as when they are small."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from redis_ledger.app.http.json_stream import LARGE_BYTES, PIECE_BYTES, encode_records, large_record, record_bytes
from redis_ledger.app.http.schemas import core
from redis_ledger.app.http.values import headers_to_body, key_to_body, value_to_body
from tests.support.traced_memory import peak_bytes

MEGABYTE = 1 << 20
VALUES = {
    "control characters": bytes(MEGABYTE),
    "umlauts across pieces": b"x" + "ü".encode() * MEGABYTE,
    "astral": "😀".encode() * 300_000,
    "no text": b"\xff" * MEGABYTE,
    "ends within a character": b"x" * MEGABYTE + "ü".encode()[:1],
    "json": b'{"a":[' + b",".join([b'"\\u0000"'] * 100_000) + b"]}",
    "json with spaces around": b" [1]" + b" " * MEGABYTE,
    "json too deep": b"[" * 200_000 + b"]" * 200_000,
    "none": None,
}


def small(**content: Any) -> core.RecordOut:
    return core.RecordOut(offset=7, timestamp_ms=1, transaction="0-1", **content)


@pytest.mark.parametrize("form", ["auto", "text", "base64"])
@pytest.mark.parametrize("last", ["h", "l"])  # a name that repeats, and one that does not
@pytest.mark.parametrize("what", VALUES)
def test_large_record_is_encoded_like_a_small_one(what, last, form):
    value = VALUES[what]
    key, headers = b"k" * LARGE_BYTES, [("h", b"1"), ("b", b"\xff" * 9), ("n", None), (last, b"\n" * LARGE_BYTES)]
    shown_as: dict[str, Any] = dict(zip(("value", "text", "base64"), value_to_body(value, form), strict=True))
    shown_as |= dict(zip(("key", "key_base64"), key_to_body(key), strict=True))
    shown_as |= dict(zip(("headers", "headers_base64"), headers_to_body(headers), strict=True))
    records: list[Any] = [small(text="before"), large_record(small(), key, value, headers, form), small(text="after")]
    rest = core.Fetched(records=[], next_offset=8, more=False, start_offset=0, stable_offset=8, end_offset=8)
    plain = msgspec.structs.replace(rest, records=[records[0], small(**shown_as), records[2]])
    text = b"".join(encode_records("records", records, rest))
    assert json.loads(text) == json.loads(msgspec.json.encode(plain))


def test_chunks_of_a_large_record_use_little_memory():
    value = bytes(30 * MEGABYTE)
    assert record_bytes(None, value, []) == len(value)
    rest = core.Fetched(records=[], next_offset=8, more=False, start_offset=0, stable_offset=8, end_offset=8)

    def act() -> None:
        size = sum(map(len, encode_records("records", [large_record(small(), None, value, [], "auto")], rest)))
        assert size > 6 * len(value)

    assert peak_bytes(act, 40 * PIECE_BYTES) < 40 * PIECE_BYTES
