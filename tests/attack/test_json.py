"""JSON bodies of 2 to 16 MB that hold very many values, or nest deeply: each is refused, and no other client waits."""

from __future__ import annotations

import time

import pytest

DEEP = b"[" * 99 + b"]" * 99
BODIES = {
    "records": (
        "/v1/topics/j/records",
        b'{"records":[%s]}' % b",".join([b"{}"] * 5_000_000),
        "records_per_request_max",
    ),
    "headers": (
        "/v1/topics/j/records",
        b'{"records":[{"headers":{%s}}]}' % b",".join(b'"%x":""' % n for n in range(1_200_000)),
        "record_headers_max",
    ),
    "a record's headers": (
        "/v1/topics/j/scheduled",
        b'{"deliver_after":"1h","headers":{%s}}' % b",".join(b'"%x":""' % n for n in range(1_200_000)),
        "record_headers_max",
    ),
    "headers of many": (
        "/v1/topics/j/records",
        b'{"records":[%s]}' % b",".join([b'{"headers":{%s}}' % b",".join(b'"%x":""' % n for n in range(9_000))] * 120),
        "headers_max",
    ),
    "groups": (
        "/v1/transactions:execute",
        b'{"records":[%s]}' % b",".join([b'{"topic":"j","records":[{}]}'] * 300_000),
        "records_per_request_max",
    ),
    "groups of acks": (
        "/v1/transactions:execute",
        b'{"acks":[%s]}' % b",".join([b'{"topic":"j","subscription":"s","ids":["0:1"]}'] * 300_000),
        "records_per_request_max",
    ),
    "ids": (
        "/v1/topics/j/subscriptions/s:ack",
        b'{"ids":[%s]}' % b",".join(b'"0:%d"' % n for n in range(1_000_000)),
        "records_per_request_max",
    ),
    "transactions": (
        "/v1/transactions:commitAll",
        b'{"transactions":[%s]}' % b",".join(b'"0-%d"' % n for n in range(1_000_000)),
        "records_per_request_max",
    ),
}


@pytest.mark.parametrize("what", BODIES)
def test_a_body_that_lists_too_much_is_refused_before_it_is_decoded(siege, what):
    path, body, setting = BODIES[what]
    began_s = time.monotonic()
    status, problem = siege.post(path, body)
    took_s = time.monotonic() - began_s
    assert (status, problem["code"]) == (413, "request_too_large"), problem
    assert setting in problem
    print(f"\n{what}: {len(body)} bytes refused in {took_s:.3f} s")
    siege.check()
    assert siege.memory_mb() < 300


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"[%s]" % b",".join([DEEP] * 70_000), None),
        (b"[%s1%s]" % (b'"ab",' * 2_600_000, b",[]" * 120), None),
        (b"[%s1]" % (b'"[",' * 2_600_000), None),
        (b"[%s]" % b",".join([b"[" * 101 + b"]" * 101] * 70_000), "invalid_json"),
        (b"[" * 1_000_000 + b"]" * 1_000_000, "invalid_json"),
    ],
    ids=["deep and wide", "texts", "brackets in texts", "too deep", "much too deep"],
)
def test_depth_is_looked_at_in_one_pass(siege, value, code):
    began_s = time.monotonic()
    status, answer = siege.post("/v1/topics/deep/records", b'{"records":[{"value":%s}]}' % value)
    print(f"\n{len(value)} bytes took {time.monotonic() - began_s:.3f} s")
    if code is None:
        assert status in (200, 413)
    else:
        assert (status, answer["code"]) == (400, code)
    siege.check()


def test_ten_thousand_records_do_not_hold_up_their_neighbours(siege):
    row = b'{"key":"k","value":{"a":1,"b":[1,2]},"headers":{"h":"x"}}'
    body = b'{"records":[%s]}' % b",".join([row] * 10_000)
    for _ in range(5):
        status, answer = siege.post("/v1/topics/fair/records", body)
        assert (status, answer["results"][0]["records"]) == (200, 10_000)
    siege.check()
    for offset in range(0, 50_000, 10_000):
        path = f"/v1/topics/fair/partitions/0/records?offset={offset}&max_records=10000&max_bytes=10000000"
        status, answer = siege.ask("GET", path)
        assert (status, len(answer["records"])) == (200, 10_000)
    siege.check()
