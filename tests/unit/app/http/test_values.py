from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.app.http.json_depth import DEPTH_MAX, is_too_deep
from redis_ledger.app.http.schemas.core import RecordIn
from redis_ledger.app.http.schemas.subscriptions import Message
from redis_ledger.app.http.values import headers_to_body, key_to_body, parse_record, value_to_body
from redis_ledger.errors import InvalidJson, InvalidRequest

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def read(body: str | bytes) -> RecordIn:
    return msgspec.json.decode(body, type=RecordIn)


def shown(value: bytes | None) -> dict[str, object]:
    """The value that a reader decodes from the JSON response."""
    raw, text, base64 = value_to_body(value)
    message = Message(
        id="0:0", partition=0, offset=0, redelivery_count=0, timestamp_ms=0, value=raw, text=text, base64=base64
    )
    body = msgspec.json.decode(msgspec.json.encode(message))
    return {name: body[name] for name in ("value", "text", "base64") if name in body}


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    ("body", "stored", "answer"),
    [
        ('{"value":{"a": [1,2]}}', b'{"a": [1,2]}', {"value": {"a": [1, 2]}}),
        ('{"value":"x"}', b'"x"', {"value": "x"}),
        ('{"value":12345678901234567890123}', b"12345678901234567890123", {"value": 12345678901234567890123}),
        ('{"text":"grüß"}', "grüß".encode(), {"text": "grüß"}),
        ('{"text":""}', b"", {"text": ""}),
        ('{"text":"17"}', b"17", {"value": 17}),
        ('{"text":"null"}', b"null", {"text": "null"}),
        ('{"base64":"/w=="}', b"\xff", {"base64": "/w=="}),
        ('{"value":null}', None, {"value": None}),
        ("{}", None, {"value": None}),
    ],
)
def test_value_is_stored_unchanged_and_returned_by_content(body, stored, answer):
    record = parse_record(read(body), "$.records", 0)
    assert record.value == stored
    assert shown(record.value) == answer


@given(JSON_VALUES)
def test_any_json_value_comes_back_equal(value):
    record = parse_record(read(msgspec.json.encode({"value": value})), "$.records", 0)
    answer = shown(record.value)
    assert answer == {"value": value} if value is not None else answer == {"value": None}


@given(st.binary())
def test_any_bytes_can_be_shown_and_read_back(value):
    answer = shown(value)
    assert len(answer) == 1
    if "base64" in answer or "text" in answer:
        assert parse_record(read(msgspec.json.encode(answer)), "$.records", 0).value == value


@pytest.mark.parametrize(
    "body", ['{"value":1,"text":"a"}', '{"text":"a","base64":"YQ=="}', '{"value":1,"base64":"YQ=="}']
)
def test_two_values_in_one_record_are_rejected_with_its_path(body):
    with pytest.raises(InvalidRequest, match=r"\$\.records\[3\] has more than one of value, text and base64"):
        parse_record(read(body), "$.records", 3)


def test_two_keys_in_one_record_are_refused():
    with pytest.raises(InvalidRequest, match=r"\$\.records\[0\] has both key and key_base64"):
        parse_record(read('{"key":"a","key_base64":"YQ=="}'), "$.records", 0)


def test_a_partition_that_contradicts_the_request_is_refused():
    with pytest.raises(InvalidRequest, match="give one of them"):
        parse_record(read('{"partition":1}'), "$.records", 0, partition=2)
    assert parse_record(read('{"partition":2}'), "$.records", 0, partition=2).partition == 2


@pytest.mark.parametrize("depth", [DEPTH_MAX, DEPTH_MAX - 1, 1])
def test_value_may_have_the_maximum_depth(depth):
    record = parse_record(read(b'{"value":' + nested(depth) + b"}"), "$.records", 0)
    assert record.value == nested(depth)
    assert "value" in shown(record.value)


@pytest.mark.parametrize("value", [nested(DEPTH_MAX + 1), b'{"a":' * 101 + b"1" + b"}" * 101])
def test_deeper_value_is_rejected(value):
    with pytest.raises(InvalidJson, match="deeper than 100"):
        parse_record(read(b'{"value":' + value + b"}"), "$.records", 0)


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 1_000, 10_000, 1_000_000])
def test_deep_json_that_was_stored_as_text_is_shown_as_text(depth):
    assert shown(nested(depth)) == {"text": nested(depth).decode()}


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        (b'"' + b"[" * 500 + b'"', False),  # brackets in a string do not nest
        (b'["' + b'\\"[' * 500 + b'"]', False),
        (b'["\\\\",' + nested(101) + b"]", True),  # the backslash is itself escaped, so the string has ended
        (b"[" + b"[]," * 500 + b"[]]", False),
        (b"[" * 500, True),
        (b"]" * 500, False),
        (b"[{" * 60 + b"}]" * 60, True),
    ],
)
def test_depth_counts_brackets_outside_of_strings(text, deep):
    assert is_too_deep(text) is deep


def test_bytes_that_are_not_text_inside_a_json_value_are_refused():
    with pytest.raises(InvalidJson, match="UTF-8"):
        parse_record(read(b'{"value":"\xff"}'), "$.records", 0)


def test_a_key_that_is_not_text_is_shown_as_base64():
    assert key_to_body(b"a") == ("a", msgspec.UNSET)
    assert key_to_body(b"\xff") == (msgspec.UNSET, b"\xff")
    assert key_to_body(None) == (msgspec.UNSET, msgspec.UNSET)


def test_headers_are_pairs_in_order_where_a_name_repeats():
    assert headers_to_body([("a", b"1"), ("b", b"\xff"), ("c", None)]) == ({"a": "1"}, {"b": b"\xff", "c": None})
    repeated = [("a", b"1"), ("b", b"2"), ("a", b"\xff"), ("a", None)]
    assert headers_to_body(repeated) == (msgspec.UNSET, repeated)
    body = read('{"headers_base64": [["a", "MQ=="], ["b", "Mg=="], ["a", "/w=="], ["a", null]]}')
    assert parse_record(body, "$", 0).headers == repeated


@pytest.mark.parametrize("cut", range(-4, 5))
@pytest.mark.parametrize(
    ("middle", "deep"),
    [
        (b'"\\\\\\\\",[[]]', False),
        (b'"\\\\\\"[[[",[]', False),
        (b'"\\\\\\\\",' + nested(101), True),
        (b'"[[[[[["', False),
    ],
)
def test_depth_does_not_depend_on_chunk_boundaries(monkeypatch, cut, middle, deep):
    monkeypatch.setattr("redis_ledger.app.http.json_depth._PIECE_BYTES", 300 + cut)
    text = b"[" + b"[]," * 99 + middle + b"," + b"[]," * 50 + b"1]"
    assert is_too_deep(text) is deep
