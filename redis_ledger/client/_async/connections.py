"""Connections to brokers: each carries one request at a time, and the one that was used last goes first.

The pool of httpx examines every connection several times for each request.  With 50 connections that takes longer than
the request itself.  So each connection is a pool of one, and this is the list of those that are idle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import TypeAlias

import httpx

from redis_ledger.client.forks import Process

IDLE_S_MAX = 5.0  # as in httpx; a connection that is idle for longer is closed

Idle: TypeAlias = "deque[tuple[float, httpx.AsyncBaseTransport]]"


class AsyncConnections(httpx.AsyncBaseTransport):
    """connect: makes a transport with at most one connection."""

    def __init__(self, connect: Callable[[], httpx.AsyncBaseTransport]) -> None:
        self._connect = connect
        self._idle: dict[tuple[str, str, int | None], Idle] = {}
        self._all: set[httpx.AsyncBaseTransport] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        idle = self._idle.setdefault((url.scheme, url.host, url.port), deque())
        try:
            connection = idle.pop()[1]
        except IndexError:
            connection = self._connect()
            self._all.add(connection)
        try:
            response = await connection.handle_async_request(request)
        except BaseException:
            idle.append((monotonic(), connection))  # it connects again
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream), response.stream
        response.stream = _Body(response.stream, self, idle, connection)
        return response

    async def release(self, idle: Idle, connection: httpx.AsyncBaseTransport) -> None:
        now = monotonic()
        idle.append((now, connection))
        try:
            if idle[0][0] >= now - IDLE_S_MAX:
                return
            unused = idle.popleft()[1]
        except IndexError:  # another thread took it
            return
        self._all.discard(unused)
        await unused.aclose()

    async def aclose(self) -> None:
        for connection in list(self._all):
            await connection.aclose()


class _Body(httpx.AsyncByteStream):
    """The body of a response; its connection is idle when it is closed."""

    def __init__(
        self,
        stream: httpx.AsyncByteStream,
        connections: AsyncConnections,
        idle: Idle,
        connection: httpx.AsyncBaseTransport,
    ) -> None:
        self._stream, self._connections, self._idle, self._connection = stream, connections, idle, connection
        self._process = Process()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._process.check()
        async for piece in self._stream:
            yield piece
            self._process.check()  # what follows belongs to the process that asked for it

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            await self._connections.release(self._idle, self._connection)
