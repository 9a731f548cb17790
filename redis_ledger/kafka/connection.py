"""One client's connection: cuts frames, passes requests to handlers, writes responses in the order of the requests.

    bytes ─▶ frames ─▶ one request at a time ─▶ handler ─▶ response
                       consecutive Produce requests are pipelined: the next is submitted before the last is answered

A malformed frame or an unsupported request closes the connection with one log line.  Reading pauses while this client
has too much in flight or does not read its responses, and while all clients together have too much in flight.
Source: Kafka's protocol guide ("network": requests of one connection are answered in order).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import partial
from typing import Any, cast

from redis_ledger.broker.socket_state import has_unread
from redis_ledger.errors import LedgerError
from redis_ledger.kafka import codec
from redis_ledger.kafka.frames import Frames
from redis_ledger.kafka.handlers import api_versions
from redis_ledger.kafka.in_flight import InFlightRequest, summary
from redis_ledger.kafka.listener import Listener
from redis_ledger.kafka.open_connections import OpenConnections
from redis_ledger.kafka.protocol.api import UnknownRequest, UnknownVersion
from redis_ledger.kafka.protocol.frame import API_VERSIONS_KEY, RequestHeader, joined, read_header, response
from redis_ledger.kafka.protocol.primitives import BadFrame, Buffer, TooManyElements
from redis_ledger.kafka.request_context import UNSUPPORTED_VERSION, Peer, RequestContext
from redis_ledger.kafka.router import Route, routes
from redis_ledger.kafka.security.sasl import Login, step
from redis_ledger.kafka.throttle import charge
from redis_ledger.telemetry import logs, metrics

QUEUE_FRAMES_MAX = 256
QUEUE_BYTES_MAX = 8 << 20
UNAUTHENTICATED = (17, 18, 36)  # SaslHandshake, ApiVersions, SaslAuthenticate


class Connection(asyncio.BufferedProtocol):
    """A Kafka client's connection.  open_connections: the limits that it shares with all others."""

    def __init__(self, open_connections: OpenConnections, listener: Listener) -> None:
        self._shared, self._listener, broker = open_connections, listener, open_connections.broker
        self.unread = broker.client_memory.lease()
        self.peer = Peer("", listener.name, unread=self.unread)
        self._cutter = Frames(
            self._push,
            partial(open_connections.take_incomplete, self),
            partial(open_connections.give_incomplete, self),
            partial(open_connections.frame_sizes, self.peer),
        )
        self._deaf_since, self._quotas = 0.0, broker.quotas
        self._frames: deque[memoryview] = deque()
        self._queued_bytes = 0
        self._news, self._writable, self._answered = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._writable.set()
        self._answered.set()
        self._answers: deque[InFlightRequest] = deque()
        self._paused = self._is_old = False
        self._paused_at = self._closing_at = self._read_s = 0.0
        self._muted_until = 0.0  # over its quota: not read before this time
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._running: Route | None = None
        self.opened = self.last_used = time.monotonic()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if not self._shared.admit(self):
            self._transport.close()
            return
        self._shared.identify(self.peer, self._transport)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def connection_lost(self, error: Exception | None) -> None:
        self.peer.closing.set()
        self._shared.remove(self)
        self._cutter.drop()
        self.unread.hold(0)
        self._shared.release(self._queued_bytes)
        self._queued_bytes = 0
        self._frames.clear()
        self._writable.set()
        if self._task is None:
            return
        # Requests that change data are completed; reads are cancelled.
        if self._running is None or self._running.is_read:
            self._task.cancel()
            self._task = None  # break the reference cycle; the collector would find it late

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._cutter.buffer()

    def buffer_updated(self, count: int) -> None:
        self._read_s = time.monotonic()
        try:
            self._cutter.received(count)
        except BadFrame as error:
            if self._shared.is_unexpected_tls(self._cutter.begin, self._listener, self.peer):
                self.abort()
            else:
                self._refuse(str(error))

    def _push(self, frame: memoryview) -> None:
        self._frames.append(frame)
        self._queued_bytes += len(frame)
        self._news.set()
        if self._shared.take(self, len(frame)) or self._is_full():
            self._pause()

    def _is_full(self) -> bool:
        return len(self._frames) + len(self._answers) > QUEUE_FRAMES_MAX or self._queued_bytes > QUEUE_BYTES_MAX

    def _pause(self) -> None:
        if not self._paused and self._transport is not None and not self._transport.is_closing():
            self._paused, self._paused_at = True, time.monotonic()
            self._transport.pause_reading()

    def resume(self) -> None:
        """Resumes reading unless a limit of this connection is exceeded."""
        transport = self._transport
        if not self._paused or self._muted_until or self._is_full() or transport is None or transport.is_closing():
            return
        self._paused = False
        self._cutter.extend(time.monotonic() - self._paused_at)
        transport.resume_reading()

    def pause_writing(self) -> None:
        self._writable.clear()
        self._deaf_since = time.monotonic()

    def resume_writing(self) -> None:
        self._writable.set()
        self._deaf_since = 0.0
        self.recount()

    def recount(self) -> None:
        """Charges the unread bytes of the write buffer to the memory for responses."""
        transport, size = self._transport, 0
        if self._deaf_since and transport is not None and not transport.is_closing():
            size = transport.get_write_buffer_size()
        self.unread.hold(size)

    @property
    def is_waiting(self) -> bool:
        """True if the connection is idle, or only waits for records."""
        return (self._running is None or self._running.is_read) and not self._frames and not self._answers

    @property
    def is_changing(self) -> bool:
        """Whether a request has begun that may be in the middle of a change."""
        return self._running is not None and not self._running.is_harmless

    def doubt(self, *, has_unread: bool) -> None:
        """Requests that have arrived and not begun are old: none that may change something is carried out."""
        self._is_old = has_unread or bool(self._frames)

    def stalled_s(self, now: float) -> float:
        """Seconds since an incomplete frame began; 0 if there is none or reading is paused."""
        return 0.0 if self._paused or not self._cutter.since else now - self._cutter.since

    def unread_s(self, now: float) -> float:
        """Seconds for which the client has not read its responses; 0 if it has read them."""
        return now - self._deaf_since if self._deaf_since else 0.0

    def closing_s(self, now: float) -> float:
        """Seconds since `close` was called; 0 if it was not."""
        return now - self._closing_at if self._closing_at else 0.0

    def drop_incomplete(self) -> None:
        """Stops reading and frees the memory of an incomplete frame, before the connection is aborted."""
        self._pause()
        self._cutter.drop()

    def close(self) -> None:
        """Closes the connection once the client has read its responses."""
        if self._transport is not None:
            self._closing_at = self._closing_at or time.monotonic()
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def drop(self) -> None:
        """Aborts the connection and drops its requests, also the one that has begun, as a crash would."""
        if self._task is not None and self._running is not None:
            self._task.cancel()
        self._frames.clear()
        self.abort()

    def _refuse(self, reason: str) -> None:
        self._shared.seldom.warning("a Kafka connection was closed", reason=reason, peer=self.peer.host)
        metrics.kafka_refused.inc()
        self._frames.clear()
        self.close()

    def _failed(self, error: BaseException | None) -> None:
        error = cast(Exception, error)
        self._shared.seldom.failed("a Kafka request failed; closing its connection", error, peer=self.peer.host)
        self.close()

    async def _run(self) -> None:
        table = routes()
        try:
            while True:
                if self._muted_until:
                    await self._wait_out_throttle()
                    continue
                if not self._frames:
                    if self._is_old and not self._cutter.since and not has_unread(self.peer.socket):
                        self._is_old = False
                    self._news.clear()
                    await self._news.wait()
                    continue
                if not self._writable.is_set():
                    await self._writable.wait()
                if not self._frames:
                    continue  # `_refuse` cleared the queue while this task waited
                frame = self._frames.popleft()
                size, is_pending = len(frame), False
                try:
                    is_pending = await self._one(frame, table)
                finally:
                    self._running = None
                    del frame  # an idle or closed connection must not keep its last request in memory
                    if self.unread.held or self._deaf_since:
                        self.recount()
                    if not is_pending:
                        self._release(size)
                if self.peer.closing.is_set() and not self._frames:
                    return
        except (BadFrame, UnknownRequest) as error:
            self._refuse(str(error))
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug in a handler must not affect other clients
            self._failed(error)

    async def _one(self, frame: memoryview, table: dict[int, Route]) -> bool:
        """Returns True if the request is still in flight; `_flush` then completes it."""
        began = self.last_used = time.monotonic()
        if self._shared.has_given_up(self.peer, began, self._read_s):
            self.drop()
            return False
        if isinstance(login := self.peer.sasl, Login) and login.bare:
            await self._log_in(login, frame)
            return False
        try:
            header = read_header(frame)
        except UnknownVersion as error:
            if error.api_key != API_VERSIONS_KEY:
                raise
            await self._answered.wait()
            self._write(API_VERSIONS_KEY, 0, error.correlation_id, api_versions.answer(UNSUPPORTED_VERSION, 0))
            return False
        key, version = header.api_key, header.version
        route = table.get(key)
        if route is None or not route.version_min <= version <= route.version_max:
            raise BadFrame(f"API {key} version {version} is not supported")
        if self._shared.requires_sasl and not self.peer.is_authenticated and key not in UNAUTHENTICATED:
            raise BadFrame(f"{route.name} before the client has authenticated")
        if self._is_old and not route.is_harmless:
            self._shared.dropped_old(1)
            self.drop()
            return False
        self._running = route
        request, is_long = codec.decoded_at_once(frame, header)
        if is_long:
            try:
                request = await codec.decoded(frame, header)
            except TooManyElements as error:
                await self._refuse_request(header, error)
                return False
        call = RequestContext(self._shared.broker, version, header.client_id or "", self.peer)
        logs.current_request.set(summary((route.name, header.correlation_id, call)))
        if route.submit is not None and not is_long:
            try:
                future = await route.submit(request, call)
            except BaseException:
                route.outcomes.closed()
                raise
            self._answered.clear()
            self._answers.append(InFlightRequest(route, version, header.correlation_id, began, len(frame), future))
            future.add_done_callback(self._flush)
            return True
        if self._answers:
            await self._answered.wait()
        try:
            answer = await route.handle(request, call)
        except BaseException as error:
            route.outcomes.closed()
            if isinstance(error, LedgerError) and route.submit is not None:
                raise BadFrame(error.detail) from error  # a request with acks=0 has no response
            raise
        if self._quotas.is_on:
            self._charge(route, len(frame), answer)
        if answer is not None and (is_long or codec.is_long(answer)):
            await self._write_long(key, version, header.correlation_id, answer)
        elif answer is not None:
            self._write(key, version, header.correlation_id, answer)
        route.outcomes.answered(answer)
        if self.peer.is_refused:
            self._frames.clear()
            self.close()
        route.seconds.observe(time.monotonic() - began)
        return False

    def _charge(self, route: Route, size: int, answer: Any) -> None:
        """Charges the principal's quota.  Over quota, reading and processing pause for the throttle time."""
        if wait_s := charge(self._quotas, self.peer.principal, route.key, size, answer):
            self._muted_until = max(self._muted_until, time.monotonic() + wait_s)
            self._pause()
            self._news.set()

    async def _wait_out_throttle(self) -> None:
        await asyncio.sleep(max(self._muted_until - time.monotonic(), 0.0))
        if self._muted_until <= time.monotonic():  # a response may have extended it
            self._muted_until = 0.0
            self.resume()

    def _release(self, size: int) -> None:
        """Releases the bytes of a completed request."""
        size = min(size, self._queued_bytes)  # a closed connection has released everything
        self._queued_bytes -= size
        self._shared.release(size)
        self.resume()

    async def _log_in(self, login: Login, token: memoryview) -> None:
        """Handles a bare token after SaslHandshake 0, which has no error response: a failure closes the connection."""
        try:
            answer = await step(login, bytes(token), self.peer)
        except LedgerError as error:
            raise BadFrame(error.detail) from error
        self._send([len(answer).to_bytes(4, "big") + answer])

    def _flush(self, _: asyncio.Future[Any]) -> None:
        """Writes completed responses of pipelined requests: in the order of the requests, in one system call."""
        encoded: list[Buffer] = []
        while self._answers and self._answers[0].future.done():
            route, version, correlation_id, began, size, future = self._answers.popleft()
            error = asyncio.CancelledError() if future.cancelled() else future.exception()
            if error is not None:
                self._send(joined(encoded))  # before the connection is closed
                encoded = []
                if isinstance(error, LedgerError):
                    self._refuse(error.detail)  # a request with acks=0 has no response
                else:
                    self._failed(error)
                route.outcomes.closed()
            else:
                answer = future.result()
                if self._quotas.is_on:
                    self._charge(route, size, answer)
                if answer is not None:
                    encoded += self._encoded(route.key, version, correlation_id, answer)
                route.outcomes.answered(answer)
            route.seconds.observe(time.monotonic() - began)
            self._release(size)
        self._send(joined(encoded))
        if not self._answers:
            self._answered.set()

    async def _refuse_request(self, header: RequestHeader, error: TooManyElements) -> None:
        """Answers with an error.  Raises it if the response has no field for an error."""
        answer = codec.error_response(header)
        if answer is None:
            raise error
        await self._answered.wait()
        self._write(header.api_key, header.version, header.correlation_id, answer)

    def _write(self, key: int, version: int, correlation_id: int, answer: Any) -> None:
        self._send(self._encoded(key, version, correlation_id, answer))

    def _encoded(self, key: int, version: int, correlation_id: int, answer: Any) -> list[Buffer]:
        try:
            return response(key, version, correlation_id, answer)
        except Exception as error:  # noqa: BLE001 - a bug in encoding must only affect this client
            self._failed(error)
            return []

    async def _write_long(self, key: int, version: int, correlation_id: int, answer: Any) -> None:
        try:
            chunks = await codec.encoded(key, version, correlation_id, answer)
        except Exception as error:  # noqa: BLE001 - as in _encoded
            self._failed(error)
        else:
            self._send(chunks)

    def _send(self, chunks: list[Buffer]) -> None:
        if not chunks or self._transport is None or self._transport.is_closing():
            return
        if len(chunks) == 1:
            self._transport.write(chunks[0])
        else:
            self._transport.writelines(chunks)
