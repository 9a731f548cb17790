"""One HTTP request as an endpoint sees it, and its answer: a thin view of ASGI that costs nothing it is not asked for.

An endpoint never touches `send`; it returns, and the operation that called it answers.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from redis_ledger.app.http.authentication import Authenticator, address_of
from redis_ledger.auth.acl import ANONYMOUS, Caller, Op, Resource
from redis_ledger.config import Config
from redis_ledger.errors import ClientMemoryFull, Draining, InvalidRequest, RequestTooLarge

if TYPE_CHECKING:
    from redis_ledger.broker.broker import Broker
    from redis_ledger.broker.client_memory import Lease
    from redis_ledger.broker.idempotency import Claim
    from redis_ledger.decoding.budget import Budget, Reserve

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
T = TypeVar("T")

JSON = b"application/json"
BATCH = "application/vnd.redis-ledger.batch"
_COMMON_HEADERS = (
    (b"server", b"redis-ledger"),
    (b"x-content-type-options", b"nosniff"),
)
# An oversized body is read and dropped up to this many times the limit, so that the caller gets to read the answer.
DRAINED_BODIES = 4
DRAIN_S_MAX = 5


_REQUEST_ID = re.compile(rb"[\w.:/+=@-]{1,128}", re.ASCII)


class ClientGone(Exception):
    """The caller closed the connection while the answer was being waited for."""


@dataclass(slots=True, eq=False)
class HttpResponse:
    """cache: for how long it may be kept, as HTTP says it.  pieces: of a large body, instead of it, each made when the
    client has read enough of those before; pieces_bytes: of records in them, for quotas."""

    status: int
    body: bytes = b""
    content_type: bytes = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    cache: bytes = b"no-store"
    pieces: Iterator[bytes] | None = None
    pieces_bytes: int = 0

    async def send(self, send: Send) -> None:
        headers = [*_COMMON_HEADERS, (b"cache-control", self.cache), *self.headers]
        if self.pieces is not None:
            headers.append((b"content-type", self.content_type))
            await send({"type": "http.response.start", "status": self.status, "headers": headers})
            for piece in self.pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                await asyncio.sleep(0)
            await send({"type": "http.response.body", "body": b""})
            return
        if self.status != 204:
            headers += ((b"content-type", self.content_type), (b"content-length", b"%d" % len(self.body)))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


_encode = msgspec.json.Encoder().encode


def reply(body: msgspec.Struct, status: int = 200) -> HttpResponse:
    return HttpResponse(status, _encode(body) + b"\n")  # a newline, so that a shell's prompt does not stick to it


class Services:
    """What endpoints may ask for.  The broker is there from the end of start-up to the beginning of shutdown."""

    def __init__(self, broker: Broker | None = None) -> None:
        self._broker = broker
        self.draining = asyncio.Event()
        self.callers = Authenticator()

    @property
    def is_given(self) -> bool:
        return self._broker is not None

    @property
    def broker(self) -> Broker:
        if self._broker is None:
            raise Draining(
                "This broker is starting or has shut down. Send the request to another one, or again shortly."
            )
        return self._broker

    @broker.setter
    def broker(self, broker: Broker | None) -> None:
        self._broker = broker


class HttpRequest:
    """body_bytes: how much of the body came.  claim: of the Idempotency-Key, if the caller gave one.  target, facts: of
    an administrative act, what the audit is told besides the path.  is_own: whether the transaction of the path is the
    caller's.  enter: asks again who the caller is and whether it may do this; None where nobody is asked."""

    __slots__ = (
        "_body",
        "_budgets",
        "_caller",
        "_held",
        "_receive",
        "_request_id",
        "_room",
        "_unpacking",
        "body_bytes",
        "claim",
        "decoded",
        "enter",
        "facts",
        "is_own",
        "scope",
        "services",
        "target",
        "unpacked_bytes",
    )

    def __init__(self, services: Services, scope: Scope, receive: Receive) -> None:
        self.services = services
        self.scope = scope
        self.claim: Claim | None = None
        self.is_own = True
        self.enter: Callable[[], Awaitable[None]] | None = None
        self.target = ""
        self.facts: dict[str, Any] = {}
        self._receive = receive
        self._body: bytes | None = None
        self.body_bytes = 0
        self.unpacked_bytes = 0  # decoded for it, and paid for
        self._budgets: list[Budget] = []
        self._room: Lease | None = None
        self._unpacking: Lease | None = None
        self._held = 0  # of the memory for requests that are not whole
        self._caller: Caller | None = None
        self._request_id = ""
        self.decoded: Any = None  # the body, once it was read as JSON

    @property
    def broker(self) -> Broker:
        return self.services.broker

    @property
    def config(self) -> Config:
        return self.services.broker.config

    @property
    def caller(self) -> Caller:
        """Who asks: nobody known, until `identify` found out."""
        return self._caller or Caller(ANONYMOUS, address_of(self.scope))

    def is_remembered(self) -> bool:
        """Whether who asks is known at once, from an earlier request; `caller` is who it is then."""
        self._caller = self.services.callers.remembered(self.broker, self.scope)
        return self._caller is not None

    async def identify(self) -> None:
        """Raises Unauthenticated."""
        self._caller = await self.services.callers.caller(self.broker, self.scope)

    def may(self, operation: Op, resource: Resource, name: str) -> bool:
        return self.broker.security.allows(self.caller, operation, resource, name)

    def check(self, operation: Op, resource: Resource, name: str) -> None:
        """Of what the body names.  Raises Forbidden."""
        self.broker.security.check(self.caller, operation, resource, name)

    @property
    def request_id(self) -> str:
        """The caller's X-Request-Id, if it gave a usable one; made here when it is first asked for."""
        if not self._request_id:
            given = next((value for key, value in self.scope["headers"] if key == b"x-request-id"), b"")
            self._request_id = given.decode("latin-1") if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        return self._request_id

    def header(self, name: bytes) -> str | None:
        """name in lower case.  Several headers of one name are refused."""
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
        """How long the body is said to be; 0 if that is not said."""
        length = self.header(b"content-length")
        return int(length) if length is not None and length.isascii() and length.isdigit() else 0

    async def body(self) -> bytes:
        """Raises RequestTooLarge before anything is done with it."""
        if self._body is None:
            self._body = await self._read()
        return self._body

    async def _read(self) -> bytes:
        limit = self.config.body_bytes_max
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
                if chunk:
                    self._hold(len(chunk), is_whole=True)
                return b"".join((*chunks, chunk)) if chunks else chunk
            self._hold(len(chunk))
            chunks.append(chunk)

    def _hold(self, count: int, *, is_whole: bool = False) -> None:
        """Until the request has been carried out.  Raises ClientMemoryFull."""
        memory = self.broker.client_memory
        if not (memory.take_whole(count) if is_whole else memory.take_request(count)):
            raise ClientMemoryFull(client_bytes_max=self.config.client_bytes_max)
        self._held += count

    def room(self) -> Lease:
        """Memory for what the answer reads, until the answer is made; then its connection counts what is not sent."""
        self._room = self.broker.client_memory.lease()
        return self._room

    def unpacking(self) -> Lease:
        """Memory for what is unpacked for the answer, until it is sent."""
        self._unpacking = self.broker.unpacked_memory.lease()
        return self._unpacking

    def budget(self, bytes_max: int | None = None, reserve: Reserve | None = None) -> Budget:
        """For what the request decodes, until its answer is made.  Its caller pays for it."""
        made = self.broker.decoding.budget(bytes_max, self.pay_decoded, reserve)
        self._budgets.append(made)
        return made

    @property
    def unpacked_held(self) -> int:
        """Bytes of what was decoded for the answer."""
        return sum(each.held for each in self._budgets)

    def end_decoding(self) -> None:
        """The answer is made: what it holds until the client has read it is counted elsewhere."""
        for budget in self._budgets:
            budget.end()

    def pay_decoded(self, count: int) -> None:
        self.unpacked_bytes += count
        self.broker.quotas.charge(self.caller.principal, bytes_out=count)

    def end(self) -> None:
        """The request has been carried out, or refused."""
        self.end_decoding()
        if self._room is not None:
            self._room.hold(0)
        if self._unpacking is not None:
            self._unpacking.hold(0)
        if self._held:
            self.broker.client_memory.give_request(self._held)
            self._held = 0

    async def _refuse(self, limit: int, *, drain: bool) -> None:
        """Raises RequestTooLarge.  drain: drop what else is coming first, within reason, so that the answer is read.

        Who waits for "100 Continue" has sent nothing yet, and draining would invite it.
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
            pass  # too slow to wait for; the connection is closed with the answer
        raise RequestTooLarge(
            f"The body is larger than {limit} bytes, the most this broker accepts. Split it; nothing was written.",
            body_bytes_max=limit,
        )

    async def waiting(self, work: Coroutine[Any, Any, T]) -> T:
        """Ends early when the caller leaves (ClientGone), may not do this any more (Unauthenticated, Forbidden) or the
        broker drains (Draining), and cancels the work."""
        await self.body()  # what comes after the body can only be the disconnect
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
            # The work may hold something that its cancellation gives back: wait for that.
            await asyncio.gather(task, gone, drained, return_exceptions=True)

    async def _until_one_of(self, *tasks: asyncio.Future[Any]) -> None:
        """Or until rules or tokens change.  Raises Unauthenticated, Forbidden."""
        if self.enter is None:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return
        changed = asyncio.ensure_future(self.broker.security.changed.wait())
        try:
            await asyncio.wait((*tasks, changed), return_when=asyncio.FIRST_COMPLETED)
            if changed.done():
                await self.enter()
        finally:
            changed.cancel()

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


Endpoint = Callable[..., Awaitable[Any]]
PathParameters = Mapping[str, str]
