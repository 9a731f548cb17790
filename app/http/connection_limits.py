"""Limits of HTTP connections, which uvicorn does not have.

    first request  within idle_s of the connection                                              else closed
    head           within head_s of its first byte, HEAD_BYTES_MAX bytes, HEADERS_MAX headers   else 408, 431
    body           within body_s, plus one second per BODY_BYTES_PER_S received                 else closed
    trailers       ignored; HEAD_BYTES_MAX bytes                                                else closed
    pipelining     PIPELINED_MAX requests behind the one that is answered                       else closed
    response       read by the client within DEAF_S_MAX                                         else closed
    certificate    until it expires                                                             then closed

Above connections_max a connection may only request /livez: an overloaded broker is not ready, but a failed liveness
probe would restart it and disconnect all other clients.  Strangers keep no others out: the oldest of them is closed
for a new connection.  A stranger has not sent a request; with auth_required, none that was authenticated.
Connections are checked once per second, so a request costs two reads of the clock.  A TLS client on a plain-text port
is detected by its first byte, for the log.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from redis_ledger.app.http.authentication import KNOWN, PEER
from redis_ledger.app.http.cork import CorkedProtocol
from redis_ledger.app.http.errors import CONTENT_TYPE, problem
from redis_ledger.app.http.request_head import flaw
from redis_ledger.auth.acl import host_of
from redis_ledger.auth.certificates import Named
from redis_ledger.broker.client_memory import UNREAD_S_MAX, ClientMemory
from redis_ledger.broker.socket_state import is_closed, socket_of
from redis_ledger.config import Config
from redis_ledger.errors import InvalidRequest, RequestTooLarge
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import RateLimitedLog

HEAD_BYTES_MAX = 65_536
HEADERS_MAX = 100
PIPELINED_MAX = 16
BODY_BYTES_PER_S = 10_000
DEAF_S_MAX = 60.0
LOOK_EVERY_S = 1.0
SPARE_CONNECTIONS = 32  # above connections_max, for /livez; further connections are closed at once
LIVE = b"/livez"
TLS_RECORD = 0x16  # first byte of a TLS handshake; no HTTP method begins like this

NO_TRAILERS: Any = deque[tuple[bytes, bytes]](maxlen=0)  # uvicorn would append any number of them to the headers
_limited_log = RateLimitedLog()


@dataclass(frozen=True)
class Limits:
    """memory: for unread responses.  strangers: oldest first.

    named_by: maps a client certificate to its principal.  is_doubtful: whether a request that is read at this time
    (monotonic) may have waited for the event loop.
    """

    idle_s: float = 75.0  # before the first request: pools and browsers open connections in advance
    head_s: float = 10.0
    body_s: float = 30.0
    connections_max: int = 10_000
    memory: ClientMemory = field(default_factory=lambda: ClientMemory(Config().client_bytes_max))
    unpacked: ClientMemory | None = None  # for decompressed records in responses
    named_by: Callable[[Any], Named | None] | None = None
    is_doubtful: Callable[[float], bool] = lambda now_s: False
    auth_required: bool = False
    strangers: dict[GuardedProtocol, None] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        config: Config,
        memory: ClientMemory,
        named_by: Callable[[Any], Named | None] | None = None,
        unpacked: ClientMemory | None = None,
        is_doubtful: Callable[[float], bool] = lambda now_s: False,
    ) -> Limits:
        return cls(
            head_s=config.http_head_ms / 1000, body_s=config.http_body_ms / 1000,
            connections_max=config.http_connections_max, memory=memory, named_by=named_by,
            unpacked=unpacked, is_doubtful=is_doubtful, auth_required=config.auth_required,
        )  # fmt: skip


class _Refused(Exception):
    """The request head is rejected."""


class GuardedProtocol(CorkedProtocol):
    """uvicorn's HTTP protocol with limits."""

    def __init__(self, *arguments: Any, limits: Limits, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._limits = limits
        self._named: Named | None = None
        self._since = 0.0  # start of the incomplete request; 0: none
        self._fed = 0  # bytes received of it
        self._since_body = 0  # bytes received since its last body bytes
        self._deaf_since = self._closing_since = 0.0
        self._is_aborted = False
        self._slow_since = 0.0  # since when the client lags behind a chunked response
        self.unread = limits.memory.lease()
        self._refused: tuple[int, str] | None = None
        self._running: Any = None  # the request that is being answered
        self._is_spare = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # narrower, as uvicorn does
        super().connection_made(transport)
        if self.client is not None:
            self.client = host_of(self.client[0]), self.client[1]
        self._since = self.loop.time()
        above, strangers = len(self.connections) - self._limits.connections_max, self._limits.strangers
        if above > 0 and strangers:
            oldest = next(iter(strangers))
            del strangers[oldest]
            self.connections.discard(oldest)
            oldest.give_up("it has not sent a request with credentials, and others need the connection")
            above -= 1
        strangers[self] = None
        if above > 0:
            self._is_spare = True
            _limited_log.warning("too many HTTP connections", open=len(self.connections))
        if above > SPARE_CONNECTIONS:
            metrics.http_refused.inc()
            transport.close()
        elif self._limits.named_by is not None:
            self._named = self._limits.named_by(transport.get_extra_info("peercert"))
            if self._named is not None:
                self._leave_strangers()

    def data_received(self, data: bytes) -> None:
        if self._limits.is_doubtful(time.monotonic()) and is_closed(socket_of(self.transport)):
            # After a pause of this broker: the client may have sent the request to another one, and gone on.
            self._close("the client has left before its request was read")
            return
        if self.cycle is None and not self._fed and data[0] == TLS_RECORD and self.scheme == "http":
            self._close("TLS handshake on a plain-text port; use http, or configure tls_certificate")
            return
        if self._since and self._fed:
            self._fed += len(data)
        else:
            self._since, self._fed = self.loop.time(), len(data)
        self._since_body += len(data)
        super().data_received(data)
        if not self._since or self.transport.is_closing():
            return
        if self._has_head():
            if self._since_body > HEAD_BYTES_MAX:
                self._close("the trailers are too large")
        elif self._fed > HEAD_BYTES_MAX:
            self._answer(431, _LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._slow_since = self._slow_since if self._is_answering() else 0.0
        if not self._since:  # pipelined behind another request
            self._since, self._fed = self.loop.time(), 1
        if self._named is not None and not self._is_over():
            scope: Any = self.scope
            scope[PEER] = self._named.principal
        if self in self._limits.strangers:
            unknown: Any = self.scope
            unknown[KNOWN] = self._leave_strangers

    def on_headers_complete(self) -> None:
        self._since_body = 0
        if not self._limits.auth_required:
            self._leave_strangers()
        if self._is_spare and self.url != LIVE:
            metrics.http_refused.inc()
            self.transport.close()
            raise _Refused
        if len(self.headers) > HEADERS_MAX:
            self._refused = 431, f"A request has at most {HEADERS_MAX} headers."
            raise _Refused
        if self._fed > HEAD_BYTES_MAX:
            size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            if size > HEAD_BYTES_MAX:
                self._refused = 431, _LARGE
                raise _Refused
        if len(self.pipeline) >= PIPELINED_MAX:
            self._refused = 400, f"At most {PIPELINED_MAX} requests are sent before the first response."
            raise _Refused
        if (reason := flaw(self.parser.get_http_version(), self.url, self.headers)) is not None:
            self._refused = 400, reason
            raise _Refused
        super().on_headers_complete()
        self.headers = NO_TRAILERS

    def on_body(self, body: bytes) -> None:
        self._since_body = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._since, self._fed = 0.0, 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._deaf_since = self.loop.time()
        self._slow_since = self._slow_since or self._deaf_since
        self.unread.hold(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._deaf_since = 0.0
        self._slow_since = self._slow_since if self._is_answering() else 0.0
        self.unread.hold(0)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._leave_strangers()
        self.unread.hold(0)
        if self._running is not None:  # uvicorn notifies only the last of several pipelined requests
            self._running.disconnected = True
            self._running.message_event.set()

    def send_400_response(self, msg: str) -> None:
        """Sends problem details instead of uvicorn's text."""
        if self.transport.is_closing():
            return
        status, detail = self._refused or (400, "Not a valid HTTP/1.1 request.")
        self._answer(status, detail)

    def look(self, now: float) -> None:
        """Closes the connection if it exceeds a limit."""
        if self.transport.is_closing():
            # It stays open until the client has read the response.
            self._closing_since = self._closing_since or now
            if now - (self._deaf_since or self._closing_since) > DEAF_S_MAX and not self._is_aborted:
                self._close("the client does not read the response")
            return
        if self._deaf_since:
            self.unread.hold(self.transport.get_write_buffer_size())
        if self._deaf_since and now - self._deaf_since > DEAF_S_MAX:
            self._close("the client does not read the response")
        elif self._is_over() and not self._is_answering():
            self.transport.close()  # the client reconnects with its new certificate
        elif self._since and not self.flow.read_paused:
            took = now - self._since
            if not self._has_head():
                if took > self._limits.head_s and self._fed:
                    self._answer(408, "The request headers did not arrive in time.")
                elif took > self._limits.idle_s:
                    self.transport.close()
            elif took > self._limits.body_s + self._fed / BODY_BYTES_PER_S:
                self._close("the request body did not arrive in time")

    def unread_s(self, now: float) -> float:
        """Seconds since the client stopped reading its response; 0 if it has read it."""
        since = (self._slow_since if self._is_answering() else 0.0) or self._deaf_since
        return now - since if since and not self._is_aborted else 0.0

    def incomplete_s(self, now: float) -> float:
        """Seconds since the start of an incomplete request body; 0 if there is none."""
        is_half = self._since and not self.flow.read_paused and self._has_head() and not self.transport.is_closing()
        return now - self._since if is_half else 0.0

    @property
    def incomplete_bytes(self) -> int:
        return self._fed

    def give_up(self, reason: str) -> None:
        self._close(reason)

    def _leave_strangers(self) -> None:
        self._limits.strangers.pop(self, None)

    def _is_over(self) -> bool:
        """Whether the client certificate has expired."""
        return self._named is not None and time.time() >= self._named.until_s

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _has_head(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and cycle.scope is self.scope

    def _answer(self, status: int, detail: str) -> None:
        """Sends a problem and closes the connection; sends nothing into a response in progress."""
        self._tell(detail)
        if not self._is_answering():
            kind = RequestTooLarge if status == 431 else InvalidRequest
            body = problem(kind(detail), status).body
            self.transport.write(
                b"HTTP/1.1 %d %s\r\nserver: redis-ledger\r\ncontent-type: %s\r\ncontent-length: %d\r\n"
                b"connection: close\r\n\r\n%s" % (status, _PHRASES[status], CONTENT_TYPE, len(body), body)
            )
        self.transport.close()

    def _close(self, reason: str) -> None:
        self._tell(reason)
        self._is_aborted = True
        self.transport.abort()

    def _tell(self, reason: str) -> None:
        metrics.http_refused.inc()
        peer = self.client[0] if self.client else "unix"
        _limited_log.warning("an HTTP connection was closed", reason=reason, peer=peer)


_LARGE = f"A request's line and headers have at most {HEAD_BYTES_MAX} bytes."
_PHRASES = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}


async def watch(connections: Iterable[Any], memory: ClientMemory, unpacked: ClientMemory | None = None) -> None:
    """Runs until cancelled."""
    loop, refused = asyncio.get_running_loop(), memory.refused
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        now = loop.time()
        for connection in list(connections):
            connection.look(now)
        for each in (memory, unpacked):
            for connection in () if each is None else each.too_slow(connections, now):
                connection.give_up("the client does not read the response while others wait for memory")
        if memory.refused > refused:
            _close_slow_senders(connections, memory, now)
        refused = memory.refused


def _close_slow_senders(connections: Iterable[Any], memory: ClientMemory, now: float) -> None:
    """Closes the connections with the oldest incomplete bodies until an eighth of the memory is free."""
    missing = memory.bytes_max // 8
    for connection in sorted(connections, key=lambda each: each.incomplete_s(now), reverse=True):
        if missing <= 0 or connection.incomplete_s(now) < UNREAD_S_MAX:
            return
        missing -= connection.incomplete_bytes
        connection.give_up("the request body is incomplete while others wait for memory")
