"""Attacks on HTTP itself, over real sockets: framing, heads, trailers and slow clients."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest

from redis_ledger.app.http.connection_limits import PIPELINED_MAX
from redis_ledger.auth.acl import Op, Resource
from tests.support.attack_target import PATIENCE_S, PRODUCE, RECORDS, AttackTarget, attack_target, parse
from tests.support.busy_machine import within


@pytest.fixture
async def target(redis_url, prefix) -> AsyncIterator[AttackTarget]:
    async with attack_target(redis_url, prefix) as opened:
        await opened.allow("ada", Op.WRITE, Resource.TOPIC, "orders")
        yield opened


@pytest.mark.parametrize(
    "framing",
    [
        b"content-length: 4\r\ntransfer-encoding: chunked\r\n",
        b"transfer-encoding: chunked\r\ncontent-length: 4\r\n",
        b"content-length: 4\r\ncontent-length: 40\r\n",
        b"content-length: 4, 40\r\n",
        b"content-length: +4\r\n",
        b"content-length: 0x4\r\n",
        b"content-length: -4\r\n",
        b"content-length: 99999999999999999999999999\r\n",
        b"transfer-encoding: chunked, identity\r\n",
        b"transfer-encoding: xchunked\r\n",
        b"transfer-encoding : chunked\r\n",
        b"transfer-encoding:\x0bchunked\r\n",
        b" transfer-encoding: chunked\r\n",
        b"x: a\r\n\tb\r\ncontent-length: 4\r\n",
        b"x: a\rcontent-length: 4\r\n",
        b"x: a\x00b\r\ncontent-length: 4\r\n",
    ],
)
async def test_a_request_whose_length_can_be_read_in_two_ways_smuggles_nothing(target, framing):
    await target.token("ada")
    hidden = b"0\r\n\r\n" + PRODUCE + target.with_token() + b"content-length: %d\r\n\r\n" % len(RECORDS) + RECORDS
    answer = await target.http(b"POST /v1/topics HTTP/1.1\r\nhost: a\r\n" + framing + b"\r\n" + hidden)
    status, head, _ = parse(answer)
    assert status in (0, 400, 401, 413), answer[:200]
    assert answer.count(b"HTTP/1.1 200") == 0
    assert status in (0, 401) or b"connection: close" in head
    assert await target.written() == 0


@pytest.mark.parametrize(
    "head",
    [
        b"GET /livez HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"GET /livez#/../v1 HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET http://b/livez HTTP/1.1\r\nhost: a\r\n\r\n",
        b"POST /v1/topics HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/topics HTTP/1.1\r\nhost: a\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    ],
)
async def test_a_head_that_can_be_read_in_two_ways_is_refused(target, head):
    status, headers, body = parse(await target.http(head))
    assert status == json.loads(body)["status"] == 400
    assert b"connection: close" in headers


async def test_a_trailer_is_no_header(target):
    await target.token("ada")
    head = PRODUCE + b"transfer-encoding: chunked\r\ncontent-type: application/json\r\n"
    chunk = b"%x\r\n%s\r\n0\r\n" % (len(RECORDS), RECORDS)
    assert parse(await target.http(head + b"\r\n" + chunk + target.with_token() + b"\r\n"))[0] == 401
    assert (
        parse(await target.http(head + target.with_token() + b"\r\n" + chunk + target.with_token() + b"\r\n"))[0] == 200
    )
    assert await target.written() == 1


@pytest.mark.parametrize("trailers", [b"a: b\r\n" * 10_000, b"x" * 60_000])
async def test_trailers_without_an_end_close_the_connection(target, trailers):
    _, writer = await asyncio.open_connection(*target.rest)
    writer.write(PRODUCE + b"transfer-encoding: chunked\r\n\r\n0\r\na: ")

    async def send(count: int) -> None:
        for _ in range(count):
            writer.write(trailers)
            await writer.drain()

    with pytest.raises(ConnectionError):
        await send(500)  # 30 MB
    writer.transport.abort()


@pytest.mark.parametrize("more", [0, 1])
async def test_requests_that_are_sent_before_the_first_response_are_limited(target, more):
    reader, writer = await asyncio.open_connection(*target.rest)
    count = 1 + PIPELINED_MAX + more
    writer.write(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n" * (count - 1))
    writer.write(b"GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    async with within(PATIENCE_S):
        answered = (await reader.read()).count(b"HTTP/1.1 200")
    writer.transport.abort()
    assert answered == (0 if more else count)


@pytest.mark.parametrize(
    "head",
    [
        b"a: " + b"x" * 200_000,  # a header without an end
        b"".join(b"h%d: x\r\n" % n for n in range(200)),
        b"".join(b"h%d: %s\r\n" % (n, b"x" * 2_000) for n in range(90)),
        b"x" * 200_000,
    ],
)
async def test_a_head_that_is_too_large_is_refused_and_the_connection_ends(target, head):
    status, headers, body = parse(await target.http(b"GET /livez HTTP/1.1\r\nhost: a\r\n" + head + b"\r\n\r\n"))
    assert status in (400, 431)
    assert b"connection: close" in headers
    assert b"application/problem+json" in headers
    assert json.loads(body)["status"] == status
    assert parse(await target.http(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n"))[0] == 200


async def test_an_address_without_an_end_is_refused(target):
    status, _, _ = parse(await target.http(b"GET /" + b"a" * 300_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n"))
    assert status in (400, 431)


async def slowly(target: AttackTarget, first: bytes, then: bytes) -> tuple[float, bytes]:
    """The connection's duration when bytes arrive one at a time, and the answer."""
    reader, writer = await asyncio.open_connection(*target.rest)
    began = time.monotonic()
    writer.write(first)
    answer = b""

    async def trickle() -> None:
        while not writer.is_closing():
            writer.write(then)
            await asyncio.sleep(0.05)  # an attacker's pace

    sending = asyncio.ensure_future(trickle())
    try:
        async with within(PATIENCE_S):
            while more := await reader.read(65_536):
                answer += more
    except ConnectionError:
        pass
    finally:
        sending.cancel()
        writer.transport.abort()
    return time.monotonic() - began, answer


@pytest.mark.parametrize(
    ("first", "then", "status"),
    [
        (b"", b"", 0),  # no request
        (b"GET /livez HT", b"", 408),
        (b"GET /livez HTTP/1.1\r\nhost: a\r\n", b"a: b\r\n", 408),
        (b"GET /livez HTTP/1.1\r\na: ", b"x", 408),
        (b"\r\n", b"\r\n", 408),
    ],
)
async def test_a_head_that_comes_byte_by_byte_is_given_up(target, first, then, status):
    took, answer = await slowly(target, first, then)
    assert took < 9.0
    assert parse(answer)[0] == status


async def test_a_body_that_stalls_is_given_up_and_a_kept_connection_is_none_longer(target):
    await target.token("ada")
    head = PRODUCE + target.with_token() + b"content-length: 1000\r\n\r\n"
    took, _ = await slowly(target, head + b"{", b"")
    assert took < 9.0
    took, _ = await slowly(target, head + b"{", b" ")
    assert took < 9.0
    took, answer = await slowly(target, b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n", b"\r\n")
    assert took < 9.0
    assert parse(answer)[0] == 200
    assert await target.written() == 0


async def test_depth_and_numbers_in_json_end_in_a_refusal(target):
    for body in (
        b'{"records":' + b"[" * 200_000,
        b'{"records":[{"value":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}]}",
        b'{"records":[{"partition":1e400}]}',
        b'{"records":[{"value":"\xff\xfe"}]}',
        b'{"records":' + b"9" * 100_000 + b"}",
    ):
        status, _ = await target.ask("ada", "POST", "/v1/topics/orders/records", body)
        assert status in (400, 422), body[:40]
    assert await target.written() == 0
