"""The HTTP server on a real socket: the bytes before, around and after a request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.server import HttpServer
from redis_ledger.broker.broker import Broker
from redis_ledger.store.store import Store
from tests.support.busy_machine import within
from tests.support.rest import open_broker

LIMIT = 10_000


@pytest.fixture
async def broker(redis_url: str, prefix: str) -> AsyncIterator[Broker]:
    async with open_broker(redis_url, prefix, coordinators=1, body_bytes_max=LIMIT) as broker:
        yield broker


@pytest.fixture
async def server(broker: Broker) -> AsyncIterator[HttpServer]:
    server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=5)
    await server.start()
    yield server
    await server.stop()


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, server: HttpServer) -> Connection:
        host, port = server.address.removeprefix("http://").split(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def send(self, method: str, path: str, *headers: str, body: bytes = b"") -> None:
        head = [f"{method} {path} HTTP/1.1", "host: localhost", *headers]
        self.writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        async with within(10):
            lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        return int(lines[0].split()[1]), headers

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = await self.head()
        return status, headers, await self.reader.readexactly(int(headers.get("content-length", 0)))

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


async def test_answers_carry_our_headers_and_the_connection_is_kept(server):
    connection = await Connection.to(server)
    for _ in range(2):
        await connection.send("GET", "/livez")
        status, headers, body = await connection.answer()
        assert (status, json.loads(body)) == (200, {"status": "live"})
        assert headers["server"] == "redis-ledger"
        assert headers["x-content-type-options"] == "nosniff"
    await connection.close()


@pytest.mark.parametrize("size", [LIMIT + 1, LIMIT * 3, LIMIT * 100])
async def test_a_body_that_is_declared_too_large_is_answered_and_nothing_is_written(server, broker, size):
    connection = await Connection.to(server)
    await connection.send("POST", "/v1/topics", f"content-length: {size}", body=b" " * min(size, 3 * LIMIT))
    status, headers, body = await connection.answer()
    assert (status, headers["connection"], json.loads(body)["code"]) == (413, "close", "request_too_large")
    assert await broker.topics.list() == []
    await connection.close()


async def test_a_body_that_grows_too_large_is_answered(server):
    connection = await Connection.to(server)
    await connection.send("POST", "/v1/topics", "transfer-encoding: chunked")
    for _ in range(12):
        connection.writer.write(b"3e8\r\n" + b" " * 1_000 + b"\r\n")
    connection.writer.write(b"0\r\n\r\n")
    status, _, body = await connection.answer()
    assert (status, json.loads(body)["code"]) == (413, "request_too_large")
    await connection.close()


async def test_expect_continue_over_the_limit_is_refused(server):
    connection = await Connection.to(server)
    await connection.send("POST", "/v1/topics", f"content-length: {LIMIT + 1}", "expect: 100-continue")
    assert (await connection.answer())[0] == 413
    await connection.close()


async def test_expect_continue_within_the_limit_is_accepted(server):
    body = b'{"name":"asked"}'
    connection = await Connection.to(server)
    await connection.send("POST", "/v1/topics", f"content-length: {len(body)}", "expect: 100-continue")
    assert (await connection.head())[0] == 100
    connection.writer.write(body)
    assert (await connection.answer())[0] == 201
    await connection.close()


async def test_a_half_sent_request_writes_nothing(server, broker):
    connection = await Connection.to(server)
    await connection.send("POST", "/v1/topics", "content-length: 100", body=b'{"name":"half"}')
    await connection.close()
    other = await Connection.to(server)
    await other.send("GET", "/v1/topics")
    assert json.loads((await other.answer())[2]) == {"topics": []}
    await other.close()
    assert await broker.topics.list() == []


@pytest.mark.parametrize("pipelined", [False, True])
async def test_messages_of_a_cancelled_receive_go_to_the_next(server, broker, pipelined):
    await broker.topics.create("orders", 1)
    await broker.subscriptions.create("orders", "s")
    leaver = await Connection.to(server)
    body = b'{"wait_ms":30000,"consumer":"gone"}'
    await leaver.send("POST", "/v1/topics/orders/subscriptions/s:receive", f"content-length: {len(body)}", body=body)
    if pipelined:
        await leaver.send("GET", "/livez")
    await asyncio.sleep(0.1)  # the wait has begun
    await leaver.close()
    await asyncio.sleep(0.1)  # the server has seen it
    stayer = await Connection.to(server)
    record = b'{"records":[{"value":"news"}]}'
    await stayer.send("POST", "/v1/topics/orders/records", f"content-length: {len(record)}", body=record)
    assert (await stayer.answer())[0] == 200
    await stayer.send("POST", "/v1/topics/orders/subscriptions/s:receive", "content-length: 0")
    messages = json.loads((await stayer.answer())[2])["messages"]
    assert [m["value"] for m in messages] == ["news"]
    await stayer.close()


async def test_stopping_ends_long_polls_with_a_retriable_problem(broker):
    server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=5)
    await server.start()
    await broker.topics.create("orders", 1)
    connection = await Connection.to(server)
    await connection.send("GET", "/v1/topics/orders/partitions/0/records?offset=0&wait_ms=30000")
    await asyncio.sleep(0.1)  # the wait has begun
    async with within(4):
        await server.stop()
    status, _, body = await connection.answer()
    assert (status, json.loads(body)["code"], json.loads(body)["retriable"]) == (503, "draining", True)
    await connection.close()


async def test_an_application_opens_and_closes_the_broker_it_was_given_a_recipe_for(redis_url, prefix):
    store = await Store.open(redis_url, prefix=prefix)
    opened: list[Broker] = []

    async def open_one() -> Broker:
        opened.append(await Broker.open(store))
        return opened[0]

    server = HttpServer(create_app(open_one), "127.0.0.1", 0)
    await server.start()
    connection = await Connection.to(server)
    await connection.send("GET", "/readyz")
    assert (await connection.answer())[0] == 200
    await connection.close()
    await server.stop()
    assert len(opened) == 1
    await store.close()
