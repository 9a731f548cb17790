"""Load generator: minimal HTTP/1.1, since client, broker and Redis share two cores and the client must cost little.

Requests are bytes that are built before the measurement.  Of a response only the status and the content length are
parsed; its body is counted, and kept only on request.  A connection carries one request at a time.

    closed   every connection sends its next request after its response        measures throughput
    paced    requests are due at fixed times whatever the broker does, and      measures latency: a broker that stalls
             latency counts from the due time, even if no connection is free    is charged for every waiting request
                                                                                (open loop)
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, cast

from bench.processes import BenchFailed, RunningBroker

BATCH = "application/vnd.redis-ledger.batch"
JSON = "application/json"
HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"


def request(method: str, path: str, body: bytes | Any = b"", content_type: str = JSON, headers: str = "") -> bytes:
    """Builds a request; a body that is not bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    typed = f"content-type: {content_type}\r\n" if data else ""
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{typed}{headers}content-length: {len(data)}\r\n\r\n"
    return head.encode() + data


class Outcome(NamedTuple):
    """latencies_ms in the order of the responses; seconds until the last one."""

    answers: int
    body_bytes: int
    seconds: float
    latencies_ms: array[float]

    def percentile_ms(self, percent: float) -> float:
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


class Connection(asyncio.Protocol):
    """Calls `answered(connection, body)` with the body's length, or with the body itself if `keep` is set."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answered: Callable[[Connection, bytes], None] | None = None
        self._failed: Callable[[BaseException], None] | None = None
        self._keep = False
        self._head = b""
        self._left = -1  # bytes of the body still to come; -1: the head is not complete
        self._status = 0
        self._pieces: list[bytes] = []
        self.body_bytes = 0  # of the latest response

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not a subclass of asyncio's, but have the same interface.
        self._transport = cast("asyncio.Transport", transport)

    def send(
        self,
        data: bytes,
        answered: Callable[[Connection, bytes], None],
        failed: Callable[[BaseException], None],
        *,
        keep: bool = False,
    ) -> None:
        assert self._answered is None, "a connection carries one request at a time"
        assert self._transport is not None
        self._answered, self._failed, self._keep = answered, failed, keep
        if self._transport.is_closing():
            self._fail(BenchFailed("The broker closed an idle connection."))
        else:
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        if self._left < 0:
            if self._head:
                data = self._head + data
            end = data.find(HEAD_END)
            if end < 0:
                self._head = data
                return
            self._head = b""
            self._status = int(data[9:12])
            self._left = self.body_bytes = _content_length(data, end)
            data = data[end + 4 :]
        self._left -= len(data)
        if self._keep or self._status >= 300:
            self._pieces.append(data)
        if self._left == 0:
            self._finish()
        elif self._left < 0:
            self._fail(BenchFailed("The broker sent more than the announced length."))

    def _finish(self) -> None:
        body = b"".join(self._pieces)
        self._pieces, self._left = [], -1
        answered, self._answered = self._answered, None
        if self._status >= 300:
            self._answered = answered
            self._fail(BenchFailed(f"The broker answered {self._status}: {body[:500].decode(errors='replace')}"))
        elif answered is not None:
            answered(self, body)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answered is not None:
            self._fail(BenchFailed(f"The broker closed the connection before its response ({error})."))

    def _fail(self, error: BenchFailed) -> None:
        self._answered = None
        if self._failed is not None:
            self._failed(error)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _content_length(data: bytes, end: int) -> int:
    at = data.find(LENGTH, 0, end)
    if at < 0:
        head = data[:end].lower()
        at = head.find(LENGTH)
        if at < 0:
            return 0
    return int(data[at + len(LENGTH) : data.find(b"\r", at)])


class Client:
    """Keep-alive connections to one broker."""

    def __init__(self, connections: Sequence[Connection]) -> None:
        self._connections = connections
        self._loop = asyncio.get_running_loop()

    async def call(self, method: str, path: str, body: Any = b"") -> Any:
        """Sends one request outside of the measurement; returns the decoded response."""
        answer = await self.each([request(method, path, body)])
        return json.loads(answer[0]) if answer[0] else None

    async def each(self, requests: Sequence[bytes]) -> list[bytes]:
        """Returns the bodies of the responses, in the order of the requests; sends one at a time on each connection."""
        bodies = [b""] * len(requests)
        done = self._loop.create_future()
        following = iter(range(len(requests)))
        left = len(requests)

        def start(connection: Connection) -> None:
            index = next(following, None)
            if index is None:
                return

            def answered(connection: Connection, body: bytes) -> None:
                nonlocal left
                bodies[index] = body
                left -= 1
                if left == 0 and not done.done():
                    done.set_result(None)
                start(connection)

            connection.send(requests[index], answered, _failing(done), keep=True)

        if requests:
            for connection in self._connections:
                start(connection)
            await done
        return bodies

    async def closed(self, requests: Iterable[bytes], seconds: float) -> Outcome:
        """Runs for this time, or until the requests run out."""
        done = self._loop.create_future()
        following: Iterator[bytes] = iter(requests)
        clock = time.perf_counter
        sent_s: dict[Connection, float] = {}
        latencies_ms = array("d")
        answers = body_bytes = 0
        began_s = last_s = clock()
        until_s = began_s + seconds
        failed = _failing(done)

        def start(connection: Connection, now_s: float) -> None:
            data = next(following, None) if now_s < until_s else None
            if data is None:
                sent_s.pop(connection, None)
                if not sent_s and not done.done():
                    done.set_result(None)
                return
            sent_s[connection] = now_s
            connection.send(data, answered, failed)

        def answered(connection: Connection, _: bytes) -> None:
            nonlocal answers, body_bytes, last_s
            last_s = clock()
            answers += 1
            body_bytes += connection.body_bytes
            latencies_ms.append((last_s - sent_s[connection]) * 1000)
            start(connection, last_s)

        for connection in self._connections:
            start(connection, began_s)
        await done
        return Outcome(answers, body_bytes, last_s - began_s, latencies_ms)

    async def paced(
        self, requests: Iterable[bytes], per_s: float, until: Callable[[], bool] = lambda: False
    ) -> Outcome:
        """Sends each request at its time, per_s in a second; a request without a free connection waits, and that
        counts. until: checked before each; once true, no more requests become due, and those sent before are
        awaited."""
        done = self._loop.create_future()
        free = deque(self._connections)
        clock = time.perf_counter
        due_s: dict[Connection, float] = {}
        latencies_ms = array("d")
        waiting: deque[tuple[bytes, int]] = deque()
        body_bytes, sent, is_over = 0, 0, False
        last_s = began_s = clock() + 0.01
        failed = _failing(done)

        def send(connection: Connection, data: bytes, index: int) -> None:
            due_s[connection] = began_s + index / per_s
            connection.send(data, answered, failed)

        def answered(connection: Connection, _: bytes) -> None:
            nonlocal body_bytes, last_s
            last_s = clock()
            body_bytes += connection.body_bytes
            latencies_ms.append((last_s - due_s[connection]) * 1000)
            if waiting:
                send(connection, *waiting.popleft())
            else:
                free.append(connection)
            finish()

        def finish() -> None:
            if is_over and len(latencies_ms) == sent and not done.done():
                done.set_result(None)

        def due(data: bytes, index: int) -> None:
            nonlocal sent
            if done.done():
                return
            sent += 1
            if free:
                send(free.popleft(), data, index)
            else:
                waiting.append((data, index))

        def over() -> None:
            nonlocal is_over
            is_over = True
            finish()

        def tick() -> None:
            for index, data in enumerate(requests):
                left_s = began_s + index / per_s - clock()
                if left_s > 0:
                    time.sleep(left_s)
                if done.done() or until():
                    break
                self._loop.call_soon_threadsafe(due, data, index)
            self._loop.call_soon_threadsafe(over)

        # An event loop's timers have a resolution of a millisecond, the interval of requests; a thread sleeps exactly.
        ticking = asyncio.create_task(asyncio.to_thread(tick))
        try:
            await done
        finally:
            await ticking
        return Outcome(len(latencies_ms), body_bytes, last_s - began_s, latencies_ms)


def _failing(done: asyncio.Future[None]) -> Callable[[BaseException], None]:
    def failed(error: BaseException) -> None:
        if not done.done():
            done.set_exception(error)

    return failed


@asynccontextmanager
async def connected(served: RunningBroker, connections: int, tls: ssl.SSLContext | None = None) -> Any:
    loop = asyncio.get_running_loop()
    made = [
        (await loop.create_connection(Connection, served.host, served.port, ssl=tls))[1] for _ in range(connections)
    ]
    try:
        yield Client(made)
    finally:
        for connection in made:
            connection.close()
