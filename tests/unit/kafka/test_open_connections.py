"""Limits that Kafka connections share: whose request is dropped, and who is read again."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redis_ledger.broker.client_memory import ClientMemory
from redis_ledger.broker.socket_state import NO_SOCKET
from redis_ledger.kafka.open_connections import ACCEPTED_S, INCOMPLETE_S, WAITED_S, OpenConnections
from redis_ledger.kafka.request_context import Peer


class Lag:
    """The lag of the event loop: after no stall, until a test says otherwise."""

    doubtful = False

    def is_doubtful(self, now_s: float) -> bool:
        return self.doubtful


class Connection:
    """late_s: how long ago its incomplete request began; 0: it has none."""

    def __init__(self, memory: ClientMemory, late_s: float = 0.0, held: int = 0) -> None:
        self.peer = SimpleNamespace(host="10.0.0.1", socket=NO_SOCKET, is_authenticated=False)
        self.opened, self.is_changing = 100.0, False
        self.events: list[str] = []
        self._memory, self._since, self._held = memory, late_s and time.monotonic() - late_s, held
        assert memory.take_request(held)

    def stalled_s(self, now: float) -> float:
        return now - self._since if self._since else 0.0

    def drop_incomplete(self) -> None:
        self._memory.give_request(self._held)
        self._held, self._since = 0, 0.0

    def abort(self) -> None:
        self.events.append("aborted")

    def drop(self) -> None:
        self.events.append("dropped")

    def doubt(self, *, has_unread: bool) -> None:
        self.events.append("doubted" if has_unread else "looked at")

    def resume(self) -> None:
        self.events.append("resumed")


@pytest.fixture
def memory() -> ClientMemory:
    return ClientMemory(200, has_metrics=False)


@pytest.fixture
def shared(memory) -> OpenConnections:
    config = SimpleNamespace(
        kafka_request_bytes_max=100, auth_required=False, kafka_connections_max=10, kafka_inflight_bytes_max=100
    )
    return OpenConnections(cast(Any, SimpleNamespace(config=config, client_memory=memory, event_loop_lag=Lag())))


def admitted(shared: OpenConnections, *connections: Connection) -> None:
    for connection in connections:
        assert shared.admit(cast(Any, connection))


def test_the_request_that_is_incomplete_for_longest_is_dropped(memory, shared):
    # Given requests that are incomplete for different times, and no memory for another one
    fast, slowest, slow = (Connection(memory, late_s, 30) for late_s in (0.0, 90.0, 60.0))
    asking = Connection(memory, 120.0)
    admitted(shared, fast, slowest, slow, asking)
    # When one is needed, then the slowest is closed, and only that one
    assert shared.take_incomplete(cast(Any, asking), 30)
    assert [each.events for each in (fast, slowest, slow, asking)] == [[], ["aborted"], [], []]
    # and the next one when it is needed again
    assert shared.take_incomplete(cast(Any, asking), 30)
    assert [each.events for each in (fast, slowest, slow, asking)] == [[], ["aborted"], ["aborted"], []]
    assert not shared.take_incomplete(cast(Any, asking), 30)


def test_a_request_that_has_just_begun_is_not_dropped(memory, shared, monkeypatch):
    young, asking = Connection(memory, INCOMPLETE_S / 2, 100), Connection(memory)
    admitted(shared, young, asking)
    now = young._since
    monkeypatch.setattr(time, "monotonic", lambda: now + INCOMPLETE_S - 0.01)
    assert not shared.take_incomplete(cast(Any, asking), 30)
    assert young.events == []
    monkeypatch.setattr(time, "monotonic", lambda: now + INCOMPLETE_S)
    assert shared.take_incomplete(cast(Any, asking), 30)
    assert young.events == ["aborted"]


def test_every_connection_that_was_paused_is_read_again_each_time(memory, shared):
    first, second, gone = (Connection(memory) for _ in range(3))
    admitted(shared, first, second, gone)
    for times in (1, 2):
        assert not shared.take(cast(Any, first), 100)
        assert all(shared.take(cast(Any, each), 10) for each in (first, second, gone))
        shared.remove(cast(Any, gone))
        shared.release(20)
        assert first.events == ["resumed"] * (times - 1)
        shared.release(10)
        assert first.events == second.events == ["resumed"] * times
        assert gone.events == []
        shared.release(100)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A client's end of a connection, and the broker's."""
    client, broker = socket.socketpair()
    yield client, broker
    client.close()
    broker.close()


@pytest.mark.parametrize(
    ("changing", "sent", "closed", "expected"),
    [
        (False, False, False, "looked at"),
        (True, False, False, "dropped"),
        (False, True, False, "doubted"),
        (False, False, True, "dropped"),
    ],
)
def test_after_a_stall_connections_with_requests_are_dropped_or_doubted(
    memory, shared, ends, changing, sent, closed, expected
):
    client, broker = ends
    connection = Connection(memory)
    connection.peer.socket, connection.is_changing = broker.fileno(), changing
    admitted(shared, connection)
    if sent:
        client.send(b"request")
    if closed:
        client.close()
    shared.drop_old()
    assert connection.events[0] == expected


@pytest.mark.parametrize(
    ("waited_s", "doubtful", "closed", "given_up"),
    [
        (0.0, False, True, False),  # a client that sends a request and leaves at once
        (WAITED_S + 0.1, False, True, True),  # a throttled connection is not read
        (0.0, True, True, True),
        (WAITED_S + 0.1, True, False, False),
    ],
)
def test_a_request_that_waited_is_given_up_if_its_client_has_left(shared, ends, waited_s, doubtful, closed, given_up):
    client, broker = ends
    shared.broker.event_loop_lag.doubtful = doubtful
    client.send(b"request")
    if closed:
        client.close()
    now = time.monotonic()
    assert shared.has_given_up(Peer("", socket=broker.fileno()), now, now - waited_s) == given_up


def test_connections_that_were_made_during_a_stall_are_doubted(memory, shared, monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    shared.drop_old()
    for opened, events in [(100.0, ["doubted"]), (100.0 + ACCEPTED_S - 0.01, ["doubted"]), (100.0 + ACCEPTED_S, [])]:
        connection = Connection(memory)
        connection.opened = opened
        admitted(shared, connection)
        assert connection.events == events


class Client(Connection):
    """Takes and returns memory by the connections that it is one of."""

    def __init__(self, shared: OpenConnections, *, has_logged_in: bool = False) -> None:
        super().__init__(shared.broker.client_memory)
        self._shared, self.peer.is_authenticated = shared, has_logged_in
        assert shared.admit(cast(Any, self))

    def take(self, count: int) -> bool:
        if not self._shared.take_incomplete(cast(Any, self), count):
            return False
        self._held += count
        self._since = time.monotonic()
        return True

    def drop_incomplete(self) -> None:
        self._shared.give_incomplete(cast(Any, self), self._held)
        self._held, self._since = 0, 0.0


@pytest.fixture
def secured(memory) -> OpenConnections:
    config = SimpleNamespace(
        kafka_request_bytes_max=100, auth_required=True, kafka_connections_max=3, kafka_inflight_bytes_max=100
    )
    return OpenConnections(cast(Any, SimpleNamespace(config=config, client_memory=memory)))


def test_requests_before_login_have_a_small_share_in_which_the_oldest_is_dropped(memory, secured):
    # Given 200 bytes for all, of which a sixteenth is 12
    first, second, third = (Client(secured) for _ in range(3))
    assert not first.take(13)
    assert first.take(6)
    assert second.take(6)
    # When another one needs some, then the oldest goes, though it has just begun
    assert third.take(6)
    assert [each.events for each in (first, second, third)] == [["aborted"], [], []]
    # and one alone does not exceed the share
    assert not third.take(13)
    third.drop_incomplete()
    second.drop_incomplete()
    assert memory.free == 200


def test_requests_after_login_do_not_suffer_from_those_before(memory, secured):
    stranger, known, other = Client(secured), Client(secured, has_logged_in=True), Client(secured, has_logged_in=True)
    assert stranger.take(12)
    assert known.take(60)
    assert other.take(40)  # half of the memory is for incomplete requests
    assert (stranger.events, known.events) == (["aborted"], [])


def test_memory_that_was_taken_before_the_login_is_returned_to_its_share(memory, secured):
    client, other = Client(secured), Client(secured)
    assert client.take(10)
    client.peer.is_authenticated = True
    assert client.take(80)
    assert not other.take(10), "the share is in use, and its owner has logged in"
    assert client.events == []
    client.drop_incomplete()
    assert other.take(10)
    other.drop_incomplete()
    assert memory.free == 200


def test_where_no_more_connections_are_accepted_the_oldest_that_has_not_logged_in_is_closed(secured):
    known, old, young = Client(secured, has_logged_in=True), Client(secured), Client(secured)
    newest = Client(secured)
    assert [each.events for each in (known, old, young, newest)] == [[], ["aborted"], [], []]
    assert len(secured.all()) == 3
    for each in (young, newest):
        each.peer.is_authenticated = True
    assert not secured.admit(cast(Any, Connection(secured.broker.client_memory)))
