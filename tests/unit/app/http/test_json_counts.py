"""Counting what a JSON body lists before it is decoded."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.app.http.json_counts import check, elements
from redis_ledger.app.http.schemas import core, scheduled, subscriptions
from redis_ledger.config import Config
from redis_ledger.errors import RequestTooLarge

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
FEW = Config(records_per_request_max=10, record_headers_max=5, headers_max=12)
TOO_MANY = "records_per_request_max"


@given(st.lists(JSON, max_size=8), st.sampled_from([None, 1]), st.booleans())
def test_elements_equal_those_of_json(values, indent, ascii_only):
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode()
    assert [json.loads(each.tobytes()) for each in elements(memoryview(text))] == values


@pytest.mark.parametrize("text", [b"[1", b"[1 2]", b'["a]', b"[[}]", b"[1,", b"[", b"[,]"])
def test_invalid_array_terminates(text):
    with pytest.raises((msgspec.DecodeError, IndexError)):
        list(elements(memoryview(text)))


def many(count: int, each: bytes = b"{}") -> bytes:
    return b"[" + b",".join([each] * count) + b"]"


LONG = b'{"value":%s}' % many(400)  # so that the body has to be looked at
GROUP = b'{"topic":"t","records":[%s]}' % LONG


@pytest.mark.parametrize(
    ("kind", "body", "named"),
    [
        (core.Produce, b'{"records":%s}' % many(10, LONG), None),
        (core.Produce, b'{"records":%s}' % many(11, LONG), TOO_MANY),
        (core.Execute, b'{"records":%s}' % many(5, GROUP), None),
        (core.Execute, b'{"records":%s}' % many(6, GROUP), TOO_MANY),
        (core.Execute, b'{"acks":%s}' % many(60, b'{"topic":"t","subscription":"s","ids":[]}'), TOO_MANY),
        (core.Execute, b'{"acks":[{"ids":%s}]}' % many(150, b'"0:1"'), TOO_MANY),
        (subscriptions.Ack, b'{"ids":%s}' % many(102, b'"0:1"'), TOO_MANY),
        (subscriptions.Ack, b'{"ids":%s}' % many(100, b'"0:1"'), None),
        (core.Produce, b'{"records":{"a":%s}}' % many(200), None),  # of another shape: who decodes it says so
        (core.Produce, b'{"records":%s' % many(200), None),
    ],
)
async def test_too_many_elements_are_rejected(kind, body, named):
    if named is None:
        await check(body, kind, FEW)
        return
    with pytest.raises(RequestTooLarge) as refused:
        await check(body, kind, FEW)
    assert list(refused.value.facts) == [named]


def with_headers(count: int) -> bytes:
    headers = ", ".join(f'"h{n}" : "{{,\\\\":\\\\"}}"' for n in range(count)).replace("\\\\", "\\")
    return b'{"headers":{%s},"value":%s}' % (headers.encode(), many(300))


@pytest.mark.parametrize(
    ("kind", "body", "named"),
    [
        (core.Produce, b'{"records":[%s]}' % with_headers(6), "record_headers_max"),
        (
            core.Produce,
            b'{"records":[%s,%s,%s]}' % (with_headers(5), with_headers(5), with_headers(3)),
            "headers_max",
        ),
        (scheduled.Schedule, with_headers(6), "record_headers_max"),
        (core.Produce, b'{"records":[%s,%s]}' % (with_headers(5), with_headers(5)), None),
    ],
)
async def test_headers_of_one_record_and_of_all_are_counted(monkeypatch, kind, body, named):
    monkeypatch.setattr("redis_ledger.app.http.json_counts.LARGE_BYTES", 10)
    assert msgspec.json.decode(body)
    if named is None:
        await check(body, kind, FEW)
        return
    with pytest.raises(RequestTooLarge) as refused:
        await check(body, kind, FEW)
    assert list(refused.value.facts) == [named]
