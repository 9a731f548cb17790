"""HTTP requests and responses as endpoints see them: a thin, lazy view of ASGI.

An endpoint returns its response and never calls `send`; the operation sends it.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from redis_ledger.app.http.asgi import Receive, Scope, Send
from redis_ledger.app.http.authentication import Authenticator, address_of, connection_is_known
from redis_ledger.auth.acl import ANONYMOUS, Caller, Op, Resource
from redis_ledger.config import Config
from redis_ledger.errors import ClientMemoryFull, Draining, InvalidRequest, LedgerError, RequestTooLarge
from redis_ledger.telemetry import logs

if TYPE_CHECKING:
    from redis_ledger.broker.broker import Broker
    from redis_ledger.broker.client_memory import Lease
    from redis_ledger.broker.idempotency import Claim
    from redis_ledger.decoding.budget import Budget, Reserve

T = TypeVar("T")

JSON = b"application/json"
BATCH = "application/vnd.redis-ledger.batch"
_COMMON_HEADERS = (
    (b"server", b"redis-ledger"),
    (b"x-content-type-options", b"nosniff"),
)
# An oversized body is read and discarded up to this many times the limit, so that the client can read the response.
DRAINED_BODIES = 4
DRAIN_S_MAX = 5


_REQUEST_ID = re.compile(rb"[\w.:/+=@-]{1,128}", re.ASCII)


class ClientGone(Exception):
    """The client closed the connection before the response was ready."""


@dataclass(slots=True, eq=False)
class HttpResponse:
    """A response.

    cache         value of Cache-Control
    chunks        a large body, instead of `body`; each chunk is encoded when the client has read the previous ones
    chunks_bytes  bytes of the records in `chunks`, for quotas
    pieces        a large body that is read while it is sent, chunks_bytes long
    """

    status: int
    body: bytes = b""
    content_type: bytes = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    cache: bytes = b"no-store"
    chunks: Iterator[bytes] | None = None
    chunks_bytes: int = 0
    pieces: AsyncIterator[bytes] | None = None

    @property
    def is_streamed(self) -> bool:
        return self.chunks is not None or self.pieces is not None

    async def send(self, send: Send) -> None:
        headers = [*_COMMON_HEADERS, (b"cache-control", self.cache), *self.headers]
        if self.chunks is not None:
            headers.append((b"content-type", self.content_type))
            await send({"type": "http.response.start", "status": self.status, "headers": headers})
            for chunk in self.chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await asyncio.sleep(0)
            await send({"type": "http.response.body", "body": b""})
            return
        if self.pieces is not None:
            headers += ((b"content-type", self.content_type), (b"content-length", b"%d" % self.chunks_bytes))
            await send({"type": "http.response.start", "status": self.status, "headers": headers})
            left = self.chunks_bytes
            async for piece in self.pieces:
                left -= len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": left > 0})
            return  # too short a body closes the connection
        if self.status != 204:
            headers += ((b"content-type", self.content_type), (b"content-length", b"%d" % len(self.body)))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


_encode = msgspec.json.Encoder().encode


def reply(body: msgspec.Struct, status: int = 200) -> HttpResponse:
    return HttpResponse(status, _encode(body) + b"\n")  # the newline keeps a shell prompt on its own line


class Services:
    """The services that endpoints use.  broker: None before start-up and after shutdown."""

    def __init__(self, broker: Broker | None = None) -> None:
        self.broker = broker
        self.draining = asyncio.Event()
        self.authenticator = Authenticator()


class HttpRequest:
    """A request to a broker that has started.

    body_bytes     bytes of the body received so far
    decoded_bytes  bytes decoded for the response and charged to the caller's quota
    json_body      the decoded JSON body
    claim          the claim on the Idempotency-Key, if the request has one
    target, facts  additional fields of the audit entry
    is_own         whether the transaction in the path is the caller's
    reauthorize    repeats authentication and authorization; None for public operations
    """

    __slots__ = (
        "_body",
        "_budgets",
        "_caller",
        "_decoded_lease",
        "_held",
        "_read_lease",
        "_receive",
        "_request_id",
        "body_bytes",
        "broker",
        "claim",
        "config",
        "decoded_bytes",
        "facts",
        "is_own",
        "json_body",
        "reauthorize",
        "scope",
        "services",
        "target",
    )

    def __init__(self, services: Services, scope: Scope, receive: Receive) -> None:
        assert services.broker is not None, "the fast path refuses requests without a broker"
        self.services = services
        self.broker: Broker = services.broker
        self.config: Config = services.broker.config
        self.scope = scope
        self.claim: Claim | None = None
        self.is_own = True
        self.reauthorize: Callable[[], Awaitable[None]] | None = None
        self.target = ""
        self.facts: dict[str, Any] = {}
        self._receive = receive
        self._body: bytes | None = None
        self.body_bytes = 0
        self.decoded_bytes = 0
        self._budgets: list[Budget] = []
        self._read_lease: Lease | None = None
        self._decoded_lease: Lease | None = None
        self._held = 0  # bytes of client memory that the body occupies
        self._caller: Caller | None = None
        self._request_id = ""
        self.json_body: Any = None

    @property
    def caller(self) -> Caller:
        """The authenticated caller; anonymous before `identify`."""
        return self._caller or Caller(ANONYMOUS, address_of(self.scope))

    def identify_from_cache(self) -> bool:
        """Sets `caller` if the credential of an earlier request is cached; returns whether it is."""
        self._caller = self.services.authenticator.remembered(self.broker, self.scope)
        if self._caller is not None:
            connection_is_known(self.scope)
        return self._caller is not None

    async def identify(self) -> None:
        """Raises Unauthenticated."""
        self._caller = await self.services.authenticator.caller(self.broker, self.scope)
        connection_is_known(self.scope)

    def allows(self, operation: Op, resource: Resource, name: str) -> bool:
        return self.broker.security.allows(self.caller, operation, resource, name)

    def check(self, operation: Op, resource: Resource, name: str) -> None:
        """Raises Forbidden."""
        self.broker.security.check(self.caller, operation, resource, name)

    @property
    def request_id(self) -> str:
        """The client's X-Request-Id if it is valid, else a generated one."""
        if not self._request_id:
            given = next((value for key, value in self.scope["headers"] if key == b"x-request-id"), b"")
            self._request_id = given.decode("latin-1") if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        return self._request_id

    def header(self, name: bytes) -> str | None:
        """name is in lower case.  Raises InvalidRequest for a repeated header."""
        found = None
        for key, value in self.scope["headers"]:
            if key == name:
                if found is not None:
                    raise InvalidRequest(f"The header {name.decode()} was sent twice; send it once.")
                found = value
        return None if found is None else found.decode("latin-1")

    def content_type(self) -> str:
        return (self.header(b"content-type") or "").partition(";")[0].strip().lower()

    def accepts_batches(self) -> bool:
        return BATCH in (self.header(b"accept") or "").lower()

    def declared_bytes(self) -> int:
        """Content-Length; 0 without the header."""
        length = self.header(b"content-length")
        return int(length) if length is not None and length.isascii() and length.isdigit() else 0

    async def body(self, before_login_max: int | None = None) -> bytes:
        """before_login_max: limit for a client that has not logged in.  Its body takes no client memory, so that it
        takes none from others.

        Raises RequestTooLarge, ClientMemoryFull.
        """
        if self._body is None:
            self._body = await self._read(before_login_max)
        return self._body

    async def _read(self, before_login_max: int | None) -> bytes:
        limit = self.config.body_bytes_max if before_login_max is None else before_login_max
        declared = self.declared_bytes()
        if declared > limit:
            await self._refuse(limit, drain=declared <= limit * DRAINED_BODIES and self.header(b"expect") is None)
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk = message.get("body", b"")
            more = message.get("more_body", False)
            size += len(chunk)
            self.body_bytes = size
            if size > limit:
                chunks.clear()
                await self._refuse(limit, drain=more)
            if not more:
                if chunk and before_login_max is None:
                    self._hold(len(chunk), is_whole=True)
                return b"".join((*chunks, chunk)) if chunks else chunk
            if before_login_max is None:
                self._hold(len(chunk))
            chunks.append(chunk)

    async def stream(self) -> AsyncIterator[bytes]:
        """The body while it arrives, for operations that do not hold it.  Raises ClientGone."""
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            piece, more = message.get("body", b""), message.get("more_body", False)
            self.body_bytes += len(piece)
            yield piece

    def hold(self, count: int) -> None:
        """Reserves client memory for a body that is streamed, until the request ends.  Raises ClientMemoryFull."""
        self._hold(count)

    def _hold(self, count: int, *, is_whole: bool = False) -> None:
        """Reserves client memory until the request ends.  Raises ClientMemoryFull."""
        memory = self.broker.client_memory
        if not (memory.take_whole(count) if is_whole else memory.take_request(count)):
            raise ClientMemoryFull(client_bytes_max=self.config.client_bytes_max)
        self._held += count

    def read_lease(self) -> Lease:
        """Memory for records read until the response is encoded; then the connection counts the unsent bytes."""
        self._read_lease = self.broker.client_memory.lease()
        return self._read_lease

    def decoded_lease(self) -> Lease:
        """Memory for decompressed records until the response is sent."""
        self._decoded_lease = self.broker.decoded_memory.lease()
        return self._decoded_lease

    def budget(self, bytes_max: int | None = None, reserve: Reserve | None = None) -> Budget:
        """The decoding budget of the request, charged to the caller's quota."""
        made = self.broker.decoding.budget(bytes_max, self.charge_decoded, reserve)
        self._budgets.append(made)
        return made

    @property
    def decoded_held_bytes(self) -> int:
        """Bytes of the decoded records that the response holds."""
        return sum(each.held for each in self._budgets)

    def end_decoding(self) -> None:
        """Ends the decoding budgets; the connection counts the encoded response."""
        for budget in self._budgets:
            budget.end()

    def charge_decoded(self, count: int) -> None:
        self.decoded_bytes += count
        self.broker.quotas.charge(self.caller.principal, bytes_out=count)

    def end(self) -> None:
        """Releases the memory of the request."""
        self.end_decoding()
        if self._read_lease is not None:
            self._read_lease.hold(0)
        if self._decoded_lease is not None:
            self._decoded_lease.hold(0)
        if self._held:
            self.broker.client_memory.give_request(self._held)
            self._held = 0

    async def _refuse(self, limit: int, *, drain: bool) -> None:
        """Raises RequestTooLarge.  drain: discard the rest of the body first, so that the client reads the response.

        A client that expects "100 Continue" has sent no body yet; draining would ask for it.
        """
        dropped = 0
        try:
            async with asyncio.timeout(DRAIN_S_MAX):
                while drain and dropped <= limit * DRAINED_BODIES:
                    message = await self._receive()
                    came = len(message.get("body", b""))
                    dropped += came
                    self.body_bytes += came
                    drain = message.get("more_body", False)
        except TimeoutError:
            pass  # the connection is closed with the response
        raise RequestTooLarge(
            f"The body is larger than {limit} bytes, the maximum of this broker. Split it; nothing was written.",
            body_bytes_max=limit,
        )

    async def run_while_connected(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits `work`; cancels it if the client disconnects, loses the permission or the broker drains.

        Raises ClientGone, Unauthenticated, Forbidden, Draining.
        """
        await self.body()  # the only message after the body is the disconnect
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self._gone())
        drained = asyncio.ensure_future(self.services.draining.wait())
        try:
            while True:
                await self._until_one_of(task, gone, drained)
                if task.done():
                    return task.result()
                if gone.done() or drained.done():
                    raise ClientGone if gone.done() else Draining()
        finally:
            for other in (task, gone, drained):
                other.cancel()
            # Wait for the cancellation: the work may release resources.
            await asyncio.gather(task, gone, drained, return_exceptions=True)

    async def while_connected(self, first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The pieces of a response, until the client disconnects or one of them cannot be read."""
        await self.body()
        gone = asyncio.ensure_future(self._gone())
        try:
            yield first
            async for piece in pieces:
                if gone.done():
                    return
                yield piece
        except LedgerError as error:  # the response has begun: a body that is too short is all that can be said
            logs.get().warning("a response was cut short", code=error.code, detail=error.detail)
        finally:
            gone.cancel()

    async def _until_one_of(self, *tasks: asyncio.Future[Any]) -> None:
        """Waits for a task; authorizes again when ACLs or tokens change.  Raises Unauthenticated, Forbidden."""
        if self.reauthorize is None:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return
        changed = asyncio.ensure_future(self.broker.security.changed.wait())
        try:
            await asyncio.wait((*tasks, changed), return_when=asyncio.FIRST_COMPLETED)
            if changed.done():
                await self.reauthorize()
        finally:
            changed.cancel()

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


Endpoint = Callable[..., Awaitable[Any]]
PathParameters = Mapping[str, str]
