"""One client's connection: frames out of bytes, requests to handlers, answers in the order of the requests.

    bytes ─▶ frames ─▶ one request at a time ─▶ handler ─▶ answer
                       Produce after Produce: the next is submitted before the last is answered

A frame that is damaged, or asks for what is not served, closes the connection with one log line; half a frame has to be
whole within frame_ms.  Reading stops while a client has too much under way, or does not read its answers, or all
clients together have too much.
Source: Kafka's protocol guide ("network": requests of one connection are answered in order).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from redis_ledger.auth.acl import host_of
from redis_ledger.errors import LedgerError
from redis_ledger.kafka import codec
from redis_ledger.kafka.frames import Frames
from redis_ledger.kafka.in_flight import InFlightRequest, asked
from redis_ledger.kafka.protocol.api import UnknownRequest, UnknownVersion
from redis_ledger.kafka.protocol.frame import (
    API_VERSIONS_KEY,
    HEADER_BYTES_MIN,
    LENGTH_BYTES,
    RequestHeader,
    read_header,
    read_request,
    response,
)
from redis_ledger.kafka.protocol.primitives import BadFrame, Buffer, TooManyElements
from redis_ledger.kafka.request_context import UNSUPPORTED_VERSION, Peer, RequestContext
from redis_ledger.kafka.router import Route, routes
from redis_ledger.kafka.security.sasl import Login, step
from redis_ledger.kafka.throttle import charge
from redis_ledger.telemetry import logs, metrics

if TYPE_CHECKING:
    from redis_ledger.kafka.server import KafkaServer, Listener

QUEUE_FRAMES_MAX = 256
QUEUE_BYTES_MAX = 8 << 20
UNAUTHENTICATED = (17, 18, 36)  # SaslHandshake, ApiVersions, SaslAuthenticate
LOGIN_BYTES_MAX = 512 * 1024  # largest frame before that (Kafka: sasl.server.max.receive.size)

_log = logs.get()


class Connection(asyncio.BufferedProtocol):
    def __init__(self, server: KafkaServer, listener: Listener) -> None:
        self._server, self._listener = server, listener
        self._cutter = Frames(
            self._push, partial(server.take_half, self), server.broker.client_memory.give_request, self._sizes
        )
        self._deaf_since = 0.0
        self._frames: deque[memoryview] = deque()
        self._queued_bytes = 0
        self._news = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._answers: deque[InFlightRequest] = deque()
        self._answered = asyncio.Event()
        self._answered.set()
        self._paused = False
        self._paused_at = self._closing_at = 0.0
        self._muted_until = 0.0  # over its quota: not read from before
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._running: Route | None = None
        self.unread = server.broker.client_memory.lease()
        self.peer = Peer("", listener.name, unread=self.unread)
        self.opened = self.last_used = time.monotonic()

    # -- bytes -------------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        name = transport.get_extra_info("peername")
        self.peer.host = host_of(str(name[0])) if name else "unix"
        if not self._server.admit(self):
            self._transport.close()
            return
        self._server.identify(self.peer, self._transport)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def connection_lost(self, error: Exception | None) -> None:
        self.peer.closing.set()
        self._server.gone(self)
        self._cutter.drop()
        self.unread.hold(0)
        self._server.release(self._queued_bytes)
        self._queued_bytes = 0
        self._frames.clear()
        self._writable.set()
        if self._task is None:
            return
        # What changes something is carried through; who only waits for records need not.
        if self._running is None or self._running.is_read:
            self._task.cancel()
            self._task = None  # its traceback holds this connection: a circle that is rarely looked for

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._cutter.buffer()

    def buffer_updated(self, count: int) -> None:
        try:
            self._cutter.received(count)
        except BadFrame as error:
            if self._server.is_foreign(self._cutter.begin, self._listener, self.peer):
                self.abort()
            else:
                self._refuse(str(error))

    def _sizes(self) -> tuple[int, int]:
        """Least and most bytes of a frame."""
        if self._server.requires_sasl and not self.peer.is_authenticated:
            return 0, LOGIN_BYTES_MAX
        return HEADER_BYTES_MIN, self._server.frame_bytes_max

    def _push(self, frame: memoryview) -> None:
        self._frames.append(frame)
        self._queued_bytes += len(frame)
        self._news.set()
        if self._server.take(self, len(frame)) or self._is_full():
            self._pause()

    def _is_full(self) -> bool:
        waiting = len(self._frames) + len(self._answers)
        return waiting > QUEUE_FRAMES_MAX or self._queued_bytes > QUEUE_BYTES_MAX

    def _pause(self) -> None:
        if not self._paused and self._transport is not None and not self._transport.is_closing():
            self._paused, self._paused_at = True, time.monotonic()
            self._transport.pause_reading()

    def resume(self) -> None:
        """There is room again: asked for by the server, and by this connection after each request."""
        if (
            self._paused
            and not self._muted_until
            and not self._is_full()
            and self._transport is not None
            and not self._transport.is_closing()
        ):
            self._paused = False
            self._cutter.extend(time.monotonic() - self._paused_at)
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        self._writable.clear()
        self._deaf_since = time.monotonic()

    def resume_writing(self) -> None:
        self._writable.set()
        self._deaf_since = 0.0
        self.recount()

    def recount(self) -> None:
        """What the client has not read takes its share of the memory for answers; and nothing else does, between two
        requests."""
        transport, size = self._transport, 0
        if self._deaf_since and transport is not None and not transport.is_closing():
            size = transport.get_write_buffer_size()
        self.unread.hold(size)

    def eof_received(self) -> bool:
        return False

    @property
    def is_waiting(self) -> bool:
        """Nothing under way but a wait for records."""
        return (self._running is None or self._running.is_read) and not self._frames and not self._answers

    def stalled_s(self, now: float) -> float:
        """How long half a frame has been waiting for the rest; 0 while reading is paused, or when there is none."""
        return 0.0 if self._paused or not self._cutter.since else now - self._cutter.since

    def deaf_s(self, now: float) -> float:
        """How long the client has not read its answers; 0 when it has."""
        return now - self._deaf_since if self._deaf_since else 0.0

    def closing_s(self, now: float) -> float:
        """How long the connection has waited for the client to read its last answers; 0 unless it is being closed."""
        return now - self._closing_at if self._closing_at else 0.0

    def drop_half(self) -> None:
        """Of a connection that is given up: nothing more is read from it."""
        self._pause()
        self._cutter.drop()

    def close(self) -> None:
        """Closes the connection when the client has read its answers."""
        if self._transport is not None:
            self._closing_at = self._closing_at or time.monotonic()
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self, reason: str) -> None:
        self._server.seldom.warning("a Kafka connection was closed", reason=reason, peer=self.peer.host)
        metrics.kafka_refused.inc()
        self._frames.clear()
        self.close()

    def _failed(self, error: BaseException | None) -> None:
        _log.error("a Kafka request failed; closing its connection", exc_info=error, peer=self.peer.host)
        self.close()

    # -- requests ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        table = routes()
        try:
            while True:
                if self._muted_until:
                    await self._sit_out()
                    continue
                if not self._frames:
                    self._news.clear()
                    await self._news.wait()
                    continue
                if not self._writable.is_set():
                    await self._writable.wait()
                if not self._frames:
                    continue  # what was there has been refused meanwhile, with what came behind it
                frame = self._frames.popleft()
                size, is_pending = len(frame), False
                try:
                    is_pending = await self._one(frame, table)
                finally:
                    self._running = None
                    del frame  # a connection that waits, or is gone, must not keep its last request
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
        except Exception as error:  # noqa: BLE001 - a handler's own mistake must not take other clients along
            self._failed(error)

    async def _one(self, frame: memoryview, table: dict[int, Route]) -> bool:
        """Whether the request is under way still, and `_flush` will say when it is over."""
        began = self.last_used = time.monotonic()
        login = self.peer.sasl
        if isinstance(login, Login) and login.bare:
            await self._log_in(login, frame)
            return False
        try:
            header = read_header(frame)
        except UnknownVersion as error:
            if error.api_key != API_VERSIONS_KEY:
                raise
            await self._answered.wait()
            self._write(API_VERSIONS_KEY, 0, error.correlation_id, self._server.api_versions(UNSUPPORTED_VERSION))
            return False
        key, version = header.api_key, header.version
        route = table.get(key)
        if route is None or not route.version_min <= version <= route.version_max:
            raise BadFrame(f"API {key} version {version} is not served here")
        if self._server.requires_sasl and not self.peer.is_authenticated and key not in UNAUTHENTICATED:
            raise BadFrame(f"{route.name} before the client has authenticated")
        self._running = route
        is_long = False
        try:
            request = read_request(frame, header, codec.QUICK_ELEMENTS)
        except TooManyElements:
            is_long = True
            try:
                request = await codec.decoded(frame, header)
            except TooManyElements as error:
                await self._refuse_request(header, error)
                return False
        call = RequestContext(self._server.broker, version, header.client_id or "", self.peer)
        logs.asked.set(asked((route.name, header.correlation_id, call)))
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
                raise BadFrame(error.detail) from error  # of a request that wants no answer
            raise
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
        """Over its caller's quota the connection is not read from for a while; what has been read waits, too."""
        if wait_s := charge(self._server.broker.quotas, self.peer.principal, route.key, size, answer):
            self._muted_until = max(self._muted_until, time.monotonic() + wait_s)
            self._pause()
            self._news.set()

    async def _sit_out(self) -> None:
        await asyncio.sleep(max(self._muted_until - time.monotonic(), 0.0))
        if self._muted_until <= time.monotonic():  # not longer, by an answer meanwhile
            self._muted_until = 0.0
            self.resume()

    def _release(self, size: int) -> None:
        """A request of this size is over."""
        size = min(size, self._queued_bytes)  # of a connection that is gone all has been released
        self._queued_bytes -= size
        self._server.release(size)
        self.resume()

    async def _log_in(self, login: Login, token: memoryview) -> None:
        """After SaslHandshake 0 there is nothing around a token, and no way to tell that it was refused."""
        try:
            answer = await step(login, bytes(token), self.peer)
        except LedgerError as error:
            raise BadFrame(error.detail) from error
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(len(answer).to_bytes(LENGTH_BYTES, "big") + answer)

    def _flush(self, _: asyncio.Future[Any]) -> None:
        """Answers of pipelined requests leave in the order of the requests, as soon as those before them have."""
        while self._answers and self._answers[0].future.done():
            route, version, correlation_id, began, size, future = self._answers.popleft()
            error = None if future.cancelled() else future.exception()
            if isinstance(error, LedgerError):
                self._refuse(error.detail)  # of a request that wants no answer
            elif future.cancelled() or error is not None:
                self._failed(error)
            else:
                self._charge(route, size, future.result())
                if future.result() is not None:
                    self._write(route.key, version, correlation_id, future.result())
            if future.cancelled() or error is not None:
                route.outcomes.closed()
            else:
                route.outcomes.answered(future.result())
            route.seconds.observe(time.monotonic() - began)
            self._release(size)
        if not self._answers:
            self._answered.set()

    async def _refuse_request(self, header: RequestHeader, error: TooManyElements) -> None:
        """Raises the error where the answer has no place for it."""
        answer = codec.refusal(header)
        if answer is None:
            raise error
        await self._answered.wait()
        self._write(header.api_key, header.version, header.correlation_id, answer)

    def _write(self, key: int, version: int, correlation_id: int, answer: Any) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        try:
            chunks = response(key, version, correlation_id, answer)
        except Exception as error:  # noqa: BLE001 - an answer that cannot be written is our mistake, and this client's alone
            self._failed(error)
        else:
            self._send(chunks)

    async def _write_long(self, key: int, version: int, correlation_id: int, answer: Any) -> None:
        try:
            chunks = await codec.encoded(key, version, correlation_id, answer)
        except Exception as error:  # noqa: BLE001 - as in _write
            self._failed(error)
        else:
            self._send(chunks)

    def _send(self, chunks: list[Buffer]) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if len(chunks) == 1:
            self._transport.write(chunks[0])
        else:
            self._transport.writelines(chunks)
