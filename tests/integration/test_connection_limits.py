"""A broker at its connection limit accepts no more connections and stays live."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redis_ledger.app.http import connection_limits
from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.connection_limits import SPARE_CONNECTIONS, Limits
from redis_ledger.app.http.server import HttpServer
from redis_ledger.broker.types import NewRecord
from tests.support.attack_target import PATIENCE_S, parse
from tests.support.broker import eventually, one
from tests.support.busy_machine import wait_for
from tests.support.principals import SECURED, Principals

MOST = 3


@pytest.fixture
async def port(redis_url, prefix) -> AsyncIterator[int]:
    """Of a broker whose connections are all taken."""
    async with one(redis_url, prefix) as broker, contextlib.AsyncExitStack() as stack:
        server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=1, limits=Limits(connections_max=MOST))
        await server.start()
        stack.push_async_callback(server.stop)
        number = int(server.address.rpartition(":")[2])
        for _ in range(MOST):
            assert (await asked(number, "/readyz", stack))[0] == 200
        yield number


async def asked(port: int, path: str, stack: contextlib.AsyncExitStack, headers: str = "") -> tuple[int, bytes, bytes]:
    """The answer on a new connection, which stays open; status 0 if it is closed instead."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    stack.callback(writer.close)
    with contextlib.suppress(ConnectionError):
        writer.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n".encode())
        return parse(await wait_for(reader.read(4096), PATIENCE_S))
    return 0, b"", b""


async def test_a_full_broker_lives_and_takes_no_further_requests(port):
    async with contextlib.AsyncExitStack() as stack:
        # It is not ready, so that load balancers send no more here
        assert (await asked(port, "/readyz", stack))[0] == 0
        assert (await asked(port, "/v1/topics", stack))[0] == 0
        # And who restarts what does not live leaves those alone that are served
        assert (await asked(port, "/livez", stack))[0] == 200


async def test_connections_without_a_request_keep_no_others_out(redis_url, prefix):
    async with one(redis_url, prefix) as broker, contextlib.AsyncExitStack() as stack:
        server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=1, limits=Limits(connections_max=MOST))
        await server.start()
        stack.push_async_callback(server.stop)
        port = int(server.address.rpartition(":")[2])
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4 * MOST)]
        for _, writer in idle:
            stack.callback(writer.close)
            writer.write(b"GET / HT")  # half of a head is none
        assert [(await asked(port, "/readyz", stack))[0] for _ in range(MOST)] == [200] * MOST
        assert (await asked(port, "/readyz", stack))[0] == 0, "these have sent one"


@pytest.mark.parametrize("path", ["/livez", "/v1/topics"])
async def test_requests_without_credentials_keep_nobody_out(redis_url, prefix, path):
    async with one(redis_url, prefix, **SECURED) as broker, contextlib.AsyncExitStack() as stack:
        limits = Limits(connections_max=MOST, auth_required=True)
        server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=1, limits=limits)
        await server.start()
        stack.push_async_callback(server.stop)
        port = int(server.address.rpartition(":")[2])
        token = f"authorization: Bearer {await Principals(broker).token('ada')}\r\n"
        for _ in range(MOST):
            for _ in range(2 * MOST):
                assert (await asked(port, path, stack, "authorization: Bearer rl_none\r\n"))[0] in (200, 401)
            assert (await asked(port, "/v1/topics", stack, token))[0] == 200
        assert (await asked(port, "/v1/topics", stack, token))[0] == 0, "these have logged in"


async def test_spare_connections_are_bounded(port):
    async with contextlib.AsyncExitStack() as stack:
        lived = [(await asked(port, "/livez", stack))[0] for _ in range(SPARE_CONNECTIONS + 2)]
    assert lived == [200] * SPARE_CONNECTIONS + [0, 0]


async def test_an_answer_that_closes_its_connection_and_is_never_read_ends_some_time(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(connection_limits, "DEAF_S_MAX", 1.0)
    async with one(redis_url, prefix) as broker, contextlib.AsyncExitStack() as stack:
        server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=1)
        await server.start()
        stack.push_async_callback(server.stop)
        await broker.topics.create("t", 1)
        await broker.records.produce("t", [NewRecord(None, b"x" * 1_000_000) for _ in range(8)])
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.connect(("127.0.0.1", int(server.address.rpartition(":")[2])))
            path = b"/v1/topics/t/partitions/0/records?max_bytes=8000000"
            accept = b"application/vnd.redis-ledger.batch"
            client.send(
                b"GET %s HTTP/1.1\r\nhost: localhost\r\naccept: %s\r\nconnection: close\r\n\r\n" % (path, accept)
            )
            connections = server._server.server_state.connections
            assert await eventually(lambda: is_closing(connections), True, 5) is True
            assert await eventually(lambda: number_of(connections), 0, 8) == 0


async def is_closing(connections: set[Any]) -> bool:
    return any(each.transport.is_closing() for each in connections)


async def number_of(connections: set[Any]) -> int:
    return len(connections)
