"""The Kafka server: accepts connections at its listeners, closes overdue ones, and drains them when it stops.

    internal  0.0.0.0:9092  ─┐                                              ┌─ metadata with addresses of internal
                             ├─▶ one server, one set of limits ─▶ a client ─┤
    external  0.0.0.0:9094  ─┘                                              └─ metadata with addresses of external

frame_ms     a request must arrive completely within this time
idle_ms      an idle connection is closed
LOGIN_S_MAX  a client must authenticate within this time: unauthenticated connections must not use up connections_max

`open_connections.py` has the limits that all connections share.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from redis_ledger.auth.certificates import Named
from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.connection import Connection
from redis_ledger.kafka.listener import Listener
from redis_ledger.kafka.open_connections import OpenConnection, OpenConnections
from redis_ledger.kafka.router import routes
from redis_ledger.kafka.security import session_revocation
from redis_ledger.telemetry.logs import get

CHECK_EVERY_S = 1.0
BACKLOG = 4_096
MOVING_S = 1.5  # of a drain: longer than long polls, and than other brokers need to notice
HIDDEN_S = 1.2  # of a drain: brokers send a heartbeat every second; after that none returns this address
ANNOUNCE_S_MAX = 2.0
HANDSHAKE_S_MAX = 10.0  # of TLS
CLOSING_S_MAX = 5.0
LOGIN_S_MAX = 30.0

_log = get()


async def _announce(call: Callable[[], Awaitable[None]]) -> None:
    """Calls `call` within ANNOUNCE_S_MAX.  Ignores errors: without Redis, other brokers detect missing heartbeats."""
    with contextlib.suppress(LedgerError, TimeoutError):
        async with asyncio.timeout(ANNOUNCE_S_MAX):
            await call()


class KafkaServer:
    """Serves the Kafka protocol at one or several listeners.

    named_by  returns the principal that a client certificate names
    """

    def __init__(
        self,
        broker: Broker,
        listeners: Sequence[Listener],
        named_by: Callable[[Any], Named | None] | None = None,
    ) -> None:
        self.broker = broker
        self.connections = OpenConnections(broker, named_by)
        self._listeners = listeners
        self._servers: list[asyncio.Server] = []
        self._checks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        routes()  # load the handlers now, so that the first client does not wait for them
        await self.broker.live_brokers.announce(
            {each.name: each.advertised or each.address for each in self._listeners}
        )
        for each in self._listeners:
            handshake_s, closing_s = (None, None) if each.tls is None else (HANDSHAKE_S_MAX, CLOSING_S_MAX)
            server = await loop.create_server(
                partial(Connection, self.connections, each), sock=each.bound, backlog=BACKLOG, ssl=each.tls,
                ssl_handshake_timeout=handshake_s, ssl_shutdown_timeout=closing_s,
            )  # fmt: skip
            self._servers.append(server)
        self.broker.event_loop_lag.on_stall.append(self.connections.drop_old)
        self.broker.live_brokers.on_return.append(self.connections.drop_old)
        self._checks = [loop.create_task(self._close_overdue()), loop.create_task(self._end_logins())]

    async def stop(self, drain_s: float) -> None:
        """Drains the server.

        1. While other brokers are live, clients are sent to them, and metadata stops returning this address.
        2. New connections are refused, waits for records end at once, and requests in flight are answered.
        """
        until = time.monotonic() + drain_s
        live = self.broker.live_brokers
        await _announce(live.leave)
        await self.broker.groups.close()  # members that wait for a rebalance look up another coordinator
        if live.is_leaving:
            await self.connections.wait_closed(MOVING_S)
        await _announce(live.hide)
        if live.is_leaving:
            await self.connections.wait_closed(HIDDEN_S)
        self.connections.drain()
        for server in self._servers:
            server.close()
        while (remaining := self.connections.all()) and time.monotonic() < until:
            for connection in remaining:
                if connection.is_waiting:
                    connection.close()
            await asyncio.sleep(0.02)
        for connection in self.connections.all():
            connection.abort()
        self.broker.event_loop_lag.on_stall.clear()
        self.broker.live_brokers.on_return.clear()
        for check in self._checks:
            check.cancel()
        await asyncio.gather(*self._checks, return_exceptions=True)

    async def _end_logins(self) -> None:
        """Runs as a separate task: the deadlines of connections must not wait for Redis."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self._close_revoked()
            except Exception:  # noqa: BLE001 - a failed check must not end the loop
                _log.exception("revoked logins could not be read")

    async def _close_revoked(self) -> None:
        revoked = await session_revocation.over([each.peer for each in self.connections.all()], self.broker)
        now_s = time.time()
        for each in self.connections.all():
            if each.peer.credential in revoked or now_s >= each.peer.until_s:
                _log.warning(
                    "the login of a Kafka client has ended", principal=each.peer.principal, peer=each.peer.host
                )
                each.close()

    async def _close_overdue(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            now = time.monotonic()
            for connection in self.connections.all():
                self._check_deadlines(connection, now)
            self.connections.close_slow_readers(now)

    def _check_deadlines(self, connection: OpenConnection, now: float) -> None:
        config, give_up = self.broker.config, self.connections.give_up
        idle_s = config.kafka_idle_ms / 1000
        if connection.unread_s(now):
            connection.recount()
        if connection.stalled_s(now) > config.kafka_frame_ms / 1000:
            give_up(connection, "a Kafka client left a request incomplete")
        elif max(connection.unread_s(now), connection.closing_s(now)) > idle_s:
            give_up(connection, "a Kafka client does not read its responses")
        elif (
            now - connection.opened > LOGIN_S_MAX
            and self.connections.requires_sasl
            and not connection.peer.is_authenticated
        ):
            give_up(connection, "a Kafka client did not authenticate")
        elif now - connection.last_used > idle_s and connection.is_waiting:
            connection.close()
