"""One connection to one server: sends commands in one write per event-loop tick, and receives replies in order.

    send(call) send(call) ─▶ out ──one write per tick──▶ Redis
                             queue [c1 c2 | c3 c4]  ◀── replies, matched to the head of the queue
                                    sent │ not yet written

A call without a waiter (timed out, cancelled) keeps its place in the queue, so that later replies still match their
calls.  When the connection breaks, `sent` separates the calls that Redis may have received from those that it cannot
have received.  `Node` (node.py) decides what happens to them.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, TypeVar, cast

from hiredis import HiredisError, Reader, ReplyError, pack_command

from redis_ledger.store.address import Address
from redis_ledger.telemetry import metrics

LARGE_BYTES = 8 * 1024  # a larger argument is passed to the socket without a copy
NEVER = 1 << 62  # a tick that never comes
ALONE = 1  # copies required of a call that does not wait for replicas

Arg = bytes | str | int | memoryview  # a memoryview is payload: it must not change until the reply has arrived
P = TypeVar("P", bound=asyncio.Protocol)
pack_small = cast("Callable[[tuple[Any, ...]], bytes]", pack_command)  # its stub knows tuples of one only
Piece = bytes | memoryview
Frame = bytes | list[Piece]  # one command, or one unit of commands; a list when it holds large arguments


_calls, _observe = metrics.redis_calls, metrics.redis_round_trip.of().observe


class RedisCall:
    """A call: its commands, and the future of its reply.

    slot      routing: the cluster slot, or -1 for any node
    retry     it may be repeated after Redis may have received it
    replies   the number of its replies; more than one for a MULTI unit, whose last is EXEC's
    plain     one reply and no fence: the fast path
    tick      when it was issued, in ticks of the store's watch; give_up: when to stop trying to reach Redis
    written   an earlier connection wrote it and lost the reply
    hops      how often Redis refused it with "elsewhere" or "later"
    in_sync   copies that must have its effect before it is answered, the primary's included; 0: what the node requires
    apart     its keys may be absent: if its slot refuses it, other calls of the slot do not wait for it
    """

    # Defaults are on the class, so that creating a call sets four attributes and not a dozen.
    plain = True
    replies = 1
    tick = 0
    give_up = NEVER
    written = False
    hops = 0
    apart = False
    in_sync = 0
    got: list[Any]
    fences: tuple[Callable[[], None], ...] = ()

    def __init__(self, future: asyncio.Future[Any], frame: Frame, slot: int, retry: bool) -> None:
        self.future = future
        self.frame = frame
        self.slot = slot
        self.retry = retry

    def expect(self, replies: int) -> None:
        self.replies = replies
        self.plain = False
        self.got = []

    def answer(self, reply: Any) -> None:
        if not self.future.done():
            self.future.set_result(reply)

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)
            # A caller whose first of two calls failed does not await the second.  Without this asyncio would log its
            # exception as never retrieved.
            self.future.exception()


def pack(args: Sequence[Arg]) -> Frame:
    """Encodes one command.  Cost: copies every argument, except payload above LARGE_BYTES."""
    for arg in args:
        if type(arg) is memoryview or (type(arg) is bytes and len(arg) > LARGE_BYTES):
            return _pack_large(args)
    return pack_small(tuple(args))


def _pack_large(args: Sequence[Arg]) -> list[Piece]:
    frame: list[Piece] = []
    small = [b"*%d\r\n" % len(args)]
    for arg in args:
        data = arg if isinstance(arg, bytes | memoryview) else str(arg).encode()
        if len(data) > LARGE_BYTES:
            small.append(b"$%d\r\n" % len(data))
            frame += (b"".join(small), data)
            small = [b"\r\n"]
        else:
            small.append(b"$%d\r\n%b\r\n" % (len(data), bytes(data)))
    frame.append(b"".join(small))
    return frame


def concat(frames: Sequence[Frame]) -> Frame:
    """Joins frames to one frame; only adjacent small ones are copied together."""
    out: list[Piece] = []
    small: list[Piece] = []
    for frame in frames:
        for piece in (frame,) if isinstance(frame, bytes) else frame:
            if len(piece) > LARGE_BYTES:
                if small:
                    out.append(b"".join(small))
                    small = []
                out.append(piece)
            else:
                small.append(piece)
    if small:
        out.append(b"".join(small))
    return out[0] if len(out) == 1 and isinstance(out[0], bytes) else out


class Connection(asyncio.Protocol):
    """conclude: called with every reply that is an error or the last of a unit, instead of the fast path.
    lost: called once when the connection is lost, unless it was closed by `close()`."""

    def __init__(
        self,
        conclude: Callable[[RedisCall, Any], None],
        lost: Callable[[Connection, Exception | None], None],
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.conclude = conclude
        self.queue: deque[RedisCall] = deque()
        self.out: list[Frame] = []
        self.sent = 0  # calls at the head of the queue that were written to the socket
        self.heard = False  # bytes arrived since the last tick
        self.silent_ticks = 0
        self._timed = 0  # calls until the write that is being timed is answered; 0: none is
        self._timed_s = 0.0
        self._lost: Callable[[Connection, Exception | None], None] | None = lost
        self._reader = Reader()
        self._transport: asyncio.Transport | None = None
        self._broken: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by class
        sock: socket.socket | None = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def send(self, call: RedisCall) -> None:
        self.queue.append(call)
        if not self.out:
            self.loop.call_soon(self.flush)
        self.out.append(call.frame)

    def flush(self) -> None:
        transport = self._transport
        # Do not write to a lost connection: its calls stay unsent, and safe to repeat.
        if transport is None or transport.is_closing() or not self.out:
            return
        out, self.out = self.out, []
        self.sent = len(self.queue)
        _calls.writes += 1
        if not self._timed:
            self._timed, self._timed_s = self.sent, perf_counter()
        try:
            transport.write(b"".join(cast("list[bytes]", out)))
        except TypeError:  # a frame with large arguments is among them
            pieces = concat(out)
            transport.writelines([pieces] if isinstance(pieces, bytes) else pieces)

    def data_received(self, data: bytes) -> None:
        self.heard = True
        queue, gets = self.queue, self._reader.gets
        answered = 0
        try:
            self._reader.feed(data)
            while (reply := gets()) is not False:  # RESP2 has no False: it means "not enough bytes yet"
                call = queue[0]
                if call.plain and type(reply) is not ReplyError:
                    queue.popleft()
                    answered += 1
                    try:
                        call.future.set_result(reply)
                    except asyncio.InvalidStateError:
                        continue  # timed out or cancelled; only its place in the queue remained
                elif call.replies > 1 and len(call.got) + 1 < call.replies:
                    call.got.append(reply)
                else:
                    queue.popleft()
                    answered += 1
                    self.conclude(call, reply)
                    if call.fences:
                        self.leave(call)
        except (HiredisError, IndexError) as error:
            # Not Redis, or a reply without a call: later replies cannot be matched to their calls.
            self.abort(error if isinstance(error, HiredisError) else HiredisError("a reply without a call"))
        finally:
            self.sent -= answered
            _calls.answered += answered
            if self._timed:
                self._timed -= answered
                if self._timed <= 0:
                    self._timed = 0
                    _observe(perf_counter() - self._timed_s)

    def leave(self, call: RedisCall) -> None:
        """Calls the fences of a call that has left this connection; see Node.fence."""
        fences, call.fences = call.fences, ()
        for fence in fences:
            self.loop.call_soon(fence)

    def pause(self, stop: bool) -> None:
        """Stops (True) or continues (False) reading replies."""
        if self._transport is not None and not self._transport.is_closing():
            if stop:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        lost, self._lost = self._lost, None
        if lost is not None:
            lost(self, self._broken or exc)

    def abort(self, why: Exception) -> None:
        """Breaks the connection and calls `lost` with the reason."""
        self._broken = why
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Closes without calling `lost`."""
        self._lost = None
        if self._transport is not None:
            self._transport.close()


async def dial(address: Address, make: Callable[[], P]) -> P:
    """Raises OSError (TLS errors are OSErrors too) if the server cannot be reached."""
    loop = asyncio.get_running_loop()
    if address.path is not None:
        _, protocol = await loop.create_unix_connection(make, address.path)
    else:
        tls = address.tls.context() if address.tls else None
        _, protocol = await loop.create_connection(make, address.host, address.port, ssl=tls)
    return protocol


async def ask(connection: Connection, commands: Sequence[Sequence[Arg]]) -> list[Any]:
    """Sends plain commands on a connection that is not in service yet; returns replies, with errors as values."""
    futures = []
    for command in commands:
        call = RedisCall(connection.loop.create_future(), pack(command), -1, False)
        connection.send(call)
        futures.append(call.future)
    connection.flush()
    return await asyncio.gather(*futures, return_exceptions=True)


async def handshake(connection: Connection, address: Address) -> None:
    """AUTH and SELECT, if the address asks for them.  Raises ReplyError if Redis refuses."""
    if address.password is not None:
        user = (address.username,) if address.username else ()
        (reply,) = await ask(connection, [(b"AUTH", *user, address.password)])
        if isinstance(reply, Exception):
            raise reply
    if address.db:
        (reply,) = await ask(connection, [(b"SELECT", address.db)])
        if isinstance(reply, Exception):
            raise reply


async def ask_once(address: Address, command: Sequence[Arg], *, timeout_s: float) -> Any:
    """Sends one command on a separate connection.  Raises OSError, also for a timeout or a refusal by Redis."""
    async with asyncio.timeout(timeout_s):
        connection = await dial(address, lambda: Connection(settle, fail_all))
        try:
            await handshake(connection, address)
            (reply,) = await ask(connection, [command])
        except ReplyError as error:
            raise ConnectionRefusedError(str(error)) from error
        finally:
            connection.close()
    if isinstance(reply, ReplyError):
        raise ConnectionRefusedError(str(reply)) from reply
    if isinstance(reply, Exception):
        raise reply
    return reply


def settle(call: RedisCall, reply: Any) -> None:
    """Passes any reply to the caller, for a connection that is not in service."""
    if isinstance(reply, Exception):
        call.fail(reply)
    else:
        call.answer(reply)


def fail_all(connection: Connection, why: Exception | None) -> None:
    for call in connection.queue:
        call.fail(ConnectionError(f"the connection broke: {why or 'closed by the server'}"))
