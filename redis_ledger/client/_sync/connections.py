"""Connections to brokers: each carries one request at a time, and the one that was used last goes first.

The pool of httpx examines every connection several times for each request.  With 50 connections that takes longer than
the request itself.  So each connection is a pool of one, and this is the list of those that are idle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import TypeAlias

import httpx

from redis_ledger.client.forks import Process

IDLE_S_MAX = 5.0  # as in httpx; a connection that is idle for longer is closed

Idle: TypeAlias = "deque[tuple[float, httpx.BaseTransport]]"


class Connections(httpx.BaseTransport):
    """connect: makes a transport with at most one connection."""

    def __init__(self, connect: Callable[[], httpx.BaseTransport]) -> None:
        self._connect = connect
        self._idle: dict[tuple[str, str, int | None], Idle] = {}
        self._all: set[httpx.BaseTransport] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        idle = self._idle.setdefault((url.scheme, url.host, url.port), deque())
        try:
            connection = idle.pop()[1]
        except IndexError:
            connection = self._connect()
            self._all.add(connection)
        try:
            response = connection.handle_request(request)
        except BaseException:
            idle.append((monotonic(), connection))  # it connects again
            raise
        assert isinstance(response.stream, httpx.SyncByteStream), response.stream
        response.stream = _Body(response.stream, self, idle, connection)
        return response

    def release(self, idle: Idle, connection: httpx.BaseTransport) -> None:
        now = monotonic()
        idle.append((now, connection))
        try:
            if idle[0][0] >= now - IDLE_S_MAX:
                return
            unused = idle.popleft()[1]
        except IndexError:  # another thread took it
            return
        self._all.discard(unused)
        unused.close()

    def close(self) -> None:
        for connection in list(self._all):
            connection.close()


class _Body(httpx.SyncByteStream):
    """The body of a response; its connection is idle when it is closed."""

    def __init__(
        self,
        stream: httpx.SyncByteStream,
        connections: Connections,
        idle: Idle,
        connection: httpx.BaseTransport,
    ) -> None:
        self._stream, self._connections, self._idle, self._connection = stream, connections, idle, connection
        self._process = Process()

    def __iter__(self) -> Iterator[bytes]:
        self._process.check()
        for piece in self._stream:
            yield piece
            self._process.check()  # what follows belongs to the process that asked for it

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._connections.release(self._idle, self._connection)
