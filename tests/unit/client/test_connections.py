"""The list of idle connections: the last one is used first, old ones are closed, and none is used twice at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from redis_ledger.client._async import connections as asynchronous
from redis_ledger.client._async.connections import IDLE_S_MAX, AsyncConnections
from redis_ledger.client._sync.connections import Connections


class Connection(httpx.AsyncBaseTransport):
    """Answers with its number; refuses paths with `down`, and waits for `gate` on others."""

    def __init__(self, number: int, gate: asyncio.Event) -> None:
        self.number, self.gate, self.busy, self.closed = number, gate, 0, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert not self.busy, "two requests on one connection"
        self.busy += 1
        try:
            await asyncio.sleep(0)  # others begin meanwhile
            await self.gate.wait()
        finally:
            self.busy -= 1
        if "down" in request.url.path:
            raise httpx.ConnectError("down")
        return httpx.Response(200, content=self._body())

    async def _body(self) -> AsyncIterator[bytes]:
        yield str(self.number).encode()

    async def aclose(self) -> None:
        self.closed += 1


class Network:
    def __init__(self) -> None:
        self.made: list[Connection] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.http = httpx.AsyncClient(transport=AsyncConnections(self.connect))

    def connect(self) -> Connection:
        self.made.append(Connection(len(self.made), self.gate))
        return self.made[-1]

    async def get(self, url: str = "http://a/x") -> str:
        return (await self.http.get(url)).text


async def test_a_connection_is_used_again_and_never_twice_at_once():
    network = Network()
    assert [await network.get() for _ in range(3)] == ["0", "0", "0"]
    assert sorted(await asyncio.gather(*(network.get() for _ in range(5)))) == ["0", "1", "2", "3", "4"]
    last = [await network.get() for _ in range(3)]
    assert len(set(last)) == 1
    assert len(network.made) == 5


async def test_each_broker_has_connections_of_its_own():
    network = Network()
    assert [await network.get(url) for url in ("http://a/", "http://b/", "http://a:81/", "https://a/")] == [*"0123"]
    assert [await network.get(url) for url in ("http://b/", "http://a/")] == ["1", "0"]


async def test_a_connection_that_failed_or_was_cancelled_is_used_again():
    network = Network()
    with pytest.raises(httpx.ConnectError):
        await network.get("http://a/down")
    network.gate.clear()
    waiting = asyncio.ensure_future(network.get())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    network.gate.set()
    assert await network.get() == "0"
    assert len(network.made) == 1


async def test_connections_that_are_idle_for_long_are_closed_one_after_the_other(monkeypatch):
    network, now = Network(), [100.0]
    monkeypatch.setattr(asynchronous, "monotonic", lambda: now[0])
    await asyncio.gather(*(network.get() for _ in range(3)))
    now[0] += IDLE_S_MAX + 1
    assert await network.get() == "2"
    assert [each.closed for each in network.made] == [1, 0, 0]
    await network.get()
    await network.get()
    assert [each.closed for each in network.made] == [1, 1, 0]


async def test_closing_closes_idle_and_busy_connections():
    network = Network()
    await network.get()
    await network.http.aclose()
    assert [each.closed for each in network.made] == [1]


def test_threads_have_the_same_list():
    made: list[httpx.MockTransport] = []

    def connect() -> httpx.MockTransport:
        made.append(httpx.MockTransport(lambda request: httpx.Response(200, content=iter([b"x"]))))
        return made[-1]

    with httpx.Client(transport=Connections(connect)) as http:
        assert [http.get("http://a/").text for _ in range(3)] == ["x", "x", "x"]
    assert len(made) == 1
