"""The load generator against a small stub server: it counts answered requests."""

from __future__ import annotations

import asyncio
import os

import pytest

from bench.load import connected, request
from bench.processes import BenchFailed, RunningBroker
from tests.support.tcp_server import small_server


@pytest.fixture
async def server():
    """Answers each request with its own body, in two pieces; POST /bad with 400, POST /slow after 50 ms."""

    async def serve(reader, writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.partition(b"content-length: ")[2].partition(b"\r")[0])
            body = await reader.readexactly(length)
            if b"/slow" in head:
                await asyncio.sleep(0.05)
            status = b"400 Bad Request" if b"/bad" in head else b"200 OK"
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n" % length)
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(b"\r\n" + body)

    async with small_server(serve) as port:
        yield RunningBroker("127.0.0.1", port, os.getpid(), os.getpid())


async def test_answers_come_back_in_the_order_of_their_requests(server):
    # Given more requests than connections
    async with connected(server, 3) as client:
        # When they are sent
        bodies = await client.each([request("POST", "/", b"%d" % n * 1000) for n in range(10)])
    # Then each answer is that of its request
    assert bodies == [b"%d" % n * 1000 for n in range(10)]


async def test_a_closed_loop_ends_with_its_requests_and_counts_each_once(server):
    async with connected(server, 4) as client:
        outcome = await client.closed([request("POST", "/", b"x" * 10)] * 25, 10)
    assert (outcome.answers, outcome.body_bytes, len(outcome.latencies_ms)) == (25, 250, 25)


async def test_latency_counts_from_the_moment_due_also_while_no_connection_is_free(server):
    # Given one connection, and a server that takes 50 ms
    async with connected(server, 1) as client:
        # When five requests are due within 5 ms
        outcome = await client.paced([request("POST", "/slow", b"x")] * 5, per_s=1000)
    # Then the last has waited for the four before it, and the first for none
    assert outcome.percentile_ms(99) >= 200
    assert max(outcome.latencies_ms) - min(outcome.latencies_ms) >= 4 * 50 - 5


async def test_refusal_is_raised_and_not_counted(server):
    async with connected(server, 2) as client:
        with pytest.raises(BenchFailed, match="answered 400: because"):
            await client.closed([request("POST", "/bad", b"because")] * 3, 1)
