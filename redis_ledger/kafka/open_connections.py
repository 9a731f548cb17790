"""Open connections of all Kafka listeners, and the limits that they share.

connections_max      further connections are closed at once
inflight_bytes_max   bytes of requests that are read but not answered; above the limit no connection is read
client_bytes_max     bytes of unread responses and incomplete requests; above the limit the slowest client is closed

With auth_required, connections that have not logged in take nothing from those that have: their incomplete requests
have a small share of the memory, and where another connection needs memory or a place, the oldest of them is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, Protocol

from redis_ledger.auth.acl import host_of
from redis_ledger.auth.certificates import Named
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.client_memory import Lease
from redis_ledger.broker.socket_state import closed_and_unread, socket_of
from redis_ledger.kafka.listener import Listener
from redis_ledger.kafka.protocol.frame import HEADER_BYTES_MIN
from redis_ledger.kafka.request_context import Peer
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import RateLimitedLog

STRANGERS_SHARE = 16  # incomplete requests before login get this part of client_bytes_max
INCOMPLETE_S = 1.0  # an incomplete request of this age may be dropped when another client needs its memory
ACCEPTED_S = 0.25  # after a stall, until all connections that were made during it have been accepted
WAITED_S = 1.0  # since a connection was read: its client may have left without notice
LOGIN_BYTES_MAX = 512 * 1024  # largest frame before authentication (Kafka: sasl.server.max.receive.size)
TLS_RECORD = b"\x16\x03"  # the first bytes of a TLS handshake; no frame has the length that they encode


class OpenConnection(Protocol):
    """The part of a connection that the shared limits and deadlines use."""

    unread: Lease
    peer: Peer
    opened: float
    last_used: float

    @property
    def is_waiting(self) -> bool: ...

    @property
    def is_changing(self) -> bool: ...

    def doubt(self, *, has_unread: bool) -> None: ...

    def stalled_s(self, now: float) -> float: ...

    def unread_s(self, now: float) -> float: ...

    def closing_s(self, now: float) -> float: ...

    def recount(self) -> None: ...

    def resume(self) -> None: ...

    def drop_incomplete(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...

    def drop(self) -> None: ...


class OpenConnections:
    """The set of open connections.  named_by: returns the principal that a client certificate names."""

    def __init__(self, broker: Broker, named_by: Callable[[Any], Named | None] | None = None) -> None:
        config = broker.config
        self.broker = broker
        self.frame_bytes_max = config.kafka_request_bytes_max
        self.requires_sasl = config.auth_required
        self.seldom = RateLimitedLog()
        self._named_by = named_by
        self._open: set[OpenConnection] = set()
        self._starved: set[OpenConnection] = set()
        self._strangers: dict[OpenConnection, None] = {}  # have not logged in, oldest first
        self._held_by_strangers: dict[OpenConnection, int] = {}  # bytes of incomplete requests, oldest first
        self._in_flight_bytes = 0
        self._is_draining = False
        self._stalled_s = -ACCEPTED_S  # when the last stall ended
        self._none_open = asyncio.Event()
        self._none_open.set()

    def all(self) -> list[OpenConnection]:
        return list(self._open)

    def drain(self) -> None:
        """Refuses new connections from now on."""
        self._is_draining = True

    async def wait_closed(self, seconds: float) -> None:
        """Waits until no connection is open, or the time is up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._none_open.wait()

    def admit(self, connection: OpenConnection) -> bool:
        """Returns False if the connection must be closed."""
        if connection.opened - self._stalled_s < ACCEPTED_S:
            connection.doubt(
                has_unread=True
            )  # it may have been made during the stall, with requests, as those of `drop_old`
        if len(self._open) >= self.broker.config.kafka_connections_max and not self._is_draining:
            self._close_oldest_stranger()
        if self._is_draining or len(self._open) >= self.broker.config.kafka_connections_max:
            self.seldom.warning("no more Kafka connections are accepted", open=len(self._open))
            metrics.kafka_refused.inc()
            return False
        self._open.add(connection)
        if self._is_stranger(connection):
            self._strangers[connection] = None
        self._none_open.clear()
        metrics.kafka_connections.inc()
        return True

    def remove(self, connection: OpenConnection) -> None:
        self._starved.discard(connection)
        self._strangers.pop(connection, None)
        if connection in self._open:
            self._open.remove(connection)
            metrics.kafka_connections.dec()
            if not self._open:
                self._none_open.set()

    def identify(self, peer: Peer, transport: asyncio.BaseTransport) -> None:
        """Sets the peer's host and socket, and its principal from its verified client certificate, if it has one."""
        name = transport.get_extra_info("peername")
        peer.host = host_of(str(name[0])) if name else "unix"
        peer.socket = socket_of(transport)
        named = None if self._named_by is None else self._named_by(transport.get_extra_info("peercert"))
        if named is not None:
            peer.principal, peer.until_s = named
            peer.is_authenticated = True

    def frame_sizes(self, peer: Peer) -> tuple[int, int]:
        """Returns the minimum and maximum size of a frame in bytes."""
        if self.requires_sasl and not peer.is_authenticated:
            return 0, LOGIN_BYTES_MAX
        return HEADER_BYTES_MIN, self.frame_bytes_max

    def is_unexpected_tls(self, begin: bytes, listener: Listener, peer: Peer) -> bool:
        """Returns whether the first bytes are a TLS handshake on a listener without TLS, and logs it."""
        if listener.tls is not None or begin[:2] != TLS_RECORD:
            return False
        self.seldom.warning("a TLS client connected to a listener without TLS", listener=listener.name, peer=peer.host)
        metrics.kafka_refused.inc()
        return True

    def take(self, connection: OpenConnection, count: int) -> bool:
        """Counts the bytes of a frame.  Returns True if the connection must pause reading until `resume` is called."""
        self._in_flight_bytes += count
        if self._in_flight_bytes <= self.broker.config.kafka_inflight_bytes_max:
            return False
        self._starved.add(connection)
        return True

    def release(self, count: int) -> None:
        self._in_flight_bytes -= count
        if self._starved and self._in_flight_bytes <= self.broker.config.kafka_inflight_bytes_max:
            starved, self._starved = self._starved, set()
            for connection in starved:
                connection.resume()

    def take_incomplete(self, connection: OpenConnection, count: int) -> bool:
        """Takes memory for an incomplete request.

        If none is free, closes connections that have not logged in, then the client whose request has been incomplete
        for the longest time.  Returns False if no request is older than INCOMPLETE_S.  Never waits: clients with
        incomplete requests would wait for each other.
        """
        memory, is_stranger = self.broker.client_memory, self._is_stranger(connection)
        if is_stranger:
            while sum(self._held_by_strangers.values()) + count > memory.bytes_max // STRANGERS_SHARE:
                if not self._drop_a_stranger(connection):
                    return False
        while not (is_taken := memory.take_request(count)) and self._drop_a_stranger(connection):
            pass
        if is_stranger and is_taken:
            self._held_by_strangers[connection] = self._held_by_strangers.get(connection, 0) + count
        if is_stranger or is_taken:
            return is_taken
        now = time.monotonic()
        others = self._open - {connection}
        slowest = max(others, key=lambda each: each.stalled_s(now), default=None)
        if slowest is None or slowest.stalled_s(now) < INCOMPLETE_S:
            return False
        self.give_up(slowest, "a Kafka client left a request incomplete while others need its memory")
        slowest.drop_incomplete()
        return memory.take_request(count)

    def give_incomplete(self, connection: OpenConnection, count: int) -> None:
        """Returns memory of an incomplete request.  What was taken before the login is returned first."""
        if (held := self._held_by_strangers.get(connection, 0)) > count:
            self._held_by_strangers[connection] = held - count
        else:
            self._held_by_strangers.pop(connection, None)
        self.broker.client_memory.give_request(count)

    def _is_stranger(self, connection: OpenConnection) -> bool:
        return self.requires_sasl and not connection.peer.is_authenticated

    def _drop_a_stranger(self, asking: OpenConnection) -> bool:
        """Closes the connection before login whose incomplete request is the oldest; False if there is none."""
        oldest = next(
            (each for each in self._held_by_strangers if each is not asking and self._is_stranger(each)), None
        )
        if oldest is None:
            return False
        self.give_up(oldest, "a Kafka client that has not logged in left a request incomplete while others need memory")
        oldest.drop_incomplete()
        return True

    def _close_oldest_stranger(self) -> None:
        """Makes room for a connection: one that has not logged in by now is the least likely to be served."""
        while (oldest := next(iter(self._strangers), None)) is not None:
            del self._strangers[oldest]
            if self._is_stranger(oldest):
                self.give_up(oldest, "a Kafka client has not logged in, and others need the connection")
                oldest.drop_incomplete()
                self.remove(oldest)
                return

    def close_slow_readers(self, now: float) -> None:
        """If responses wait for memory, closes the slowest clients until an eighth of it will be free."""
        for connection in self.broker.client_memory.too_slow(self._open, now):
            self.give_up(connection, "a Kafka client does not read its responses while others wait for the memory")

    def has_given_up(self, peer: Peer, now: float, read_s: float) -> bool:
        """Whether the client has closed the connection while its request waited here: it may have sent the request to
        another broker and gone on.  The requests of a client that sends them and leaves at once are carried out.

        now, read_s: monotonic; when the connection was read.  Cost: a system call for requests that have waited.
        """
        has_waited = self.broker.event_loop_lag.is_doubtful(now) or now - read_s > WAITED_S
        return has_waited and not peer.waits()

    def drop_old(self) -> None:
        """After a stall of the event loop, or when this broker was not live for the others: no old request takes effect
        after what its client has done meanwhile.

        Connections are closed that their clients have closed, or whose request may be in the middle of a change; others
        when they come to a request that changes something and was sent before.  A client that still waits sends it
        again.
        """
        self._stalled_s = time.monotonic()
        closed, unread = closed_and_unread(each.peer.socket for each in self._open)
        dropped = [each for each in self._open if each.is_changing or each.peer.socket in closed]
        for each in dropped:
            each.drop()
        for each in self._open:
            each.doubt(has_unread=each.peer.socket in unread)
        self.dropped_old(len(dropped))

    def dropped_old(self, count: int) -> None:
        if count:
            self.seldom.warning("Kafka connections with old requests were closed after a pause", count=count)

    def give_up(self, connection: OpenConnection, reason: str) -> None:
        self.seldom.warning(reason, peer=connection.peer.host)
        metrics.kafka_refused.inc()
        connection.abort()
