"""The Kafka server: accepts connections at its listeners, bounds what they may use together, and drains them.

    internal  0.0.0.0:9092  ─┐                                        ┌─ told the addresses of internal
                             ├─▶ one server, one set of bounds ─▶ a client
    external  0.0.0.0:9094  ─┘                                        └─ told those of external

connections_max      further ones are closed at once
client_bytes_max     answers that are not read, and half requests: the slowest client is closed for others
inflight_bytes_max   requests of all connections that are read and not answered; above it nobody is read from
frame_ms             half a frame must be whole by then         idle_ms    a silent connection is closed
a login must be done within LOGIN_S_MAX, for who has not said who it is must not keep others out by its connections
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from redis_ledger.auth.certificates import Named
from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.connection import Connection
from redis_ledger.kafka.handlers import api_versions
from redis_ledger.kafka.protocol.messages.api_versions_response import ApiVersionsResponse
from redis_ledger.kafka.request_context import Peer
from redis_ledger.kafka.router import routes
from redis_ledger.kafka.security import session_revocation
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import Seldom, get

LOOK_EVERY_S = 1.0
BACKLOG = 4_096
MOVING_S = 1.5  # of a drain: longer than clients wait for records and than brokers take to hear of each other
HEARD_S = 1.2  # of a drain: brokers beat once a second, so after that none of them tells this one's address
TOLD_S_MAX = 2.0
HANDSHAKE_S_MAX = 10.0  # of TLS; then it is given up
CLOSING_S_MAX = 5.0
LOGIN_S_MAX = 30.0
HALF_S = 1.0  # a client that has sent half a request for so long may be closed when another needs its memory
TLS_RECORD = b"\x16\x03"  # how a TLS handshake begins; no frame is as long as this would mean

_log = get()


class Listener(NamedTuple):
    """name: "" for one that is alone.  advertised: "host:port" that its clients are told; "" takes the address that is
    bound.  tls: nothing else is spoken."""

    bound: socket.socket
    name: str = ""
    advertised: str = ""
    tls: ssl.SSLContext | None = None

    @property
    def address(self) -> str:
        host, port = self.bound.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def _tell(telling: Callable[[], Awaitable[None]]) -> None:
    """Others, if Redis is there; if not, they find out by our silence."""
    with contextlib.suppress(LedgerError, TimeoutError):
        async with asyncio.timeout(TOLD_S_MAX):
            await telling()


class KafkaServer:
    """named_by: whom a client certificate names."""

    def __init__(
        self,
        broker: Broker,
        listeners: Sequence[Listener],
        named_by: Callable[[Any], Named | None] | None = None,
    ) -> None:
        config = broker.config
        self.broker = broker
        self.frame_bytes_max = config.kafka_request_bytes_max
        self.requires_sasl = config.auth_required
        self.named_by = named_by
        self.seldom = Seldom()
        self._listeners = listeners
        self._connections: set[Connection] = set()
        self._starved: set[Connection] = set()
        self._in_flight = 0
        self._servers: list[asyncio.Server] = []
        self._watches: list[asyncio.Task[None]] = []
        self._draining = False
        self._alone = asyncio.Event()  # no connections
        self._alone.set()

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        routes()  # loads the handlers, which takes a while: not when the first client waits
        await self.broker.live_brokers.announce(
            {each.name: each.advertised or each.address for each in self._listeners}
        )
        for each in self._listeners:
            handshake_s, closing_s = (None, None) if each.tls is None else (HANDSHAKE_S_MAX, CLOSING_S_MAX)
            server = await loop.create_server(
                partial(Connection, self, each), sock=each.bound, backlog=BACKLOG, ssl=each.tls,
                ssl_handshake_timeout=handshake_s, ssl_shutdown_timeout=closing_s,
            )  # fmt: skip
            self._servers.append(server)
        self._watches = [loop.create_task(self._close_overdue()), loop.create_task(self._end_logins())]

    async def stop(self, drain_s: float) -> None:
        """Clients are sent to the other brokers, while there are any, and then not told this address any more.  After
        that there are no new connections, waits for records end at once, and requests under way are answered."""
        until = time.monotonic() + drain_s
        members = self.broker.live_brokers
        await _tell(members.leave)
        await self.broker.groups.close()  # members that wait for a rebalance are told to go elsewhere
        if members.is_leaving:
            await self._while_connected(MOVING_S)
        await _tell(members.hide)
        if members.is_leaving:
            await self._while_connected(HEARD_S)
        self._draining = True
        for server in self._servers:
            server.close()
        while self._connections and time.monotonic() < until:
            for connection in list(self._connections):
                if connection.is_waiting:
                    connection.close()
            await asyncio.sleep(0.02)
        for connection in list(self._connections):
            connection.abort()
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)

    async def _while_connected(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._alone.wait()

    def api_versions(self, error_code: int) -> ApiVersionsResponse:
        return api_versions.answer(error_code, 0)

    # -- what connections share --------------------------------------------------------------------------------------

    def admit(self, connection: Connection) -> bool:
        if self._draining or len(self._connections) >= self.broker.config.kafka_connections_max:
            self.seldom.warning("no more Kafka connections are taken", open=len(self._connections))
            metrics.kafka_refused.inc()
            return False
        self._connections.add(connection)
        self._alone.clear()
        metrics.kafka_connections.inc()
        return True

    def identify(self, peer: Peer, transport: asyncio.BaseTransport) -> None:
        """By a verified client certificate, if there is one."""
        named = None if self.named_by is None else self.named_by(transport.get_extra_info("peercert"))
        if named is not None:
            peer.principal, peer.until_s = named
            peer.is_authenticated = True

    def is_foreign(self, begin: bytes, listener: Listener, peer: Peer) -> bool:
        """Whether what came and is no frame is TLS; then the log says so."""
        if listener.tls is not None or begin[:2] != TLS_RECORD:
            return False
        self.seldom.warning("a TLS client came to a Kafka port without TLS", listener=listener.name, peer=peer.host)
        metrics.kafka_refused.inc()
        return True

    def gone(self, connection: Connection) -> None:
        self._starved.discard(connection)
        if connection in self._connections:
            self._connections.remove(connection)
            metrics.kafka_connections.dec()
            if not self._connections:
                self._alone.set()

    def take(self, connection: Connection, count: int) -> bool:
        """Counts a frame that has arrived.  True: this connection must not be read from until `release` says so."""
        self._in_flight += count
        if self._in_flight <= self.broker.config.kafka_inflight_bytes_max:
            return False
        self._starved.add(connection)
        return True

    def release(self, count: int) -> None:
        self._in_flight -= count
        if self._starved and self._in_flight <= self.broker.config.kafka_inflight_bytes_max:
            starved, self._starved = self._starved, set()
            for connection in starved:
                connection.resume()

    def take_half(self, connection: Connection, count: int) -> bool:
        """Takes memory for a request that has not arrived whole.  When there is none, the client that has sent half a
        request for the longest is closed; False: nobody has had time enough.  A client is not made to wait: clients
        with half a request each would wait for each other."""
        memory = self.broker.client_memory
        if memory.take_request(count):
            return True
        now = time.monotonic()
        others = self._connections - {connection}
        slowest = max(others, key=lambda each: each.stalled_s(now), default=None)
        if slowest is None or slowest.stalled_s(now) < HALF_S:
            return False
        self._give_up(slowest, "a Kafka client sent half a request while others need its memory")
        slowest.drop_half()
        return memory.take_request(count)

    def _close_slow_readers(self, now: float) -> None:
        """While answers wait for memory: the slowest first, until an eighth of it will be free."""
        memory = self.broker.client_memory
        for connection in memory.too_slow(self._connections, now):
            self._give_up(connection, "a Kafka client does not read its answers while others wait for the memory")

    def _give_up(self, connection: Connection, reason: str) -> None:
        self.seldom.warning(reason, peer=connection.peer.host)
        metrics.kafka_refused.inc()
        connection.abort()

    async def _end_logins(self) -> None:
        """Apart from the deadlines, which must not wait for Redis."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self._close_revoked()
            except Exception:  # noqa: BLE001 - one failed check must not end all further ones
                _log.exception("revoked logins could not be looked up")

    async def _close_revoked(self) -> None:
        lost = await session_revocation.over([connection.peer for connection in self._connections], self.broker)
        now_s = time.time()
        for connection in [c for c in self._connections if c.peer.proof in lost or now_s >= c.peer.until_s]:
            _log.warning("a Kafka client may not stay", principal=connection.peer.principal, peer=connection.peer.host)
            connection.close()

    async def _close_overdue(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            now = time.monotonic()
            for connection in list(self._connections):
                self._check_deadlines(connection, now)
            self._close_slow_readers(now)

    def _check_deadlines(self, connection: Connection, now: float) -> None:
        config = self.broker.config
        idle_s = config.kafka_idle_ms / 1000
        if connection.deaf_s(now):
            connection.recount()
        if connection.stalled_s(now) > config.kafka_frame_ms / 1000:
            self._give_up(connection, "a Kafka client sent half a request and waits")
        elif max(connection.deaf_s(now), connection.closing_s(now)) > idle_s:
            self._give_up(connection, "a Kafka client does not read its answers")
        elif now - connection.opened > LOGIN_S_MAX and self.requires_sasl and not connection.peer.is_authenticated:
            self._give_up(connection, "a Kafka client did not log in")
        elif now - connection.last_used > idle_s and connection.is_waiting:
            connection.close()
