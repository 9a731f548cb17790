"""Limits that Kafka connections share: whose request is dropped, and who is read again."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redis_ledger.broker.client_memory import ClientMemory
from redis_ledger.kafka.open_connections import INCOMPLETE_S, OpenConnections


class Connection:
    """late_s: how long ago its incomplete request began; 0: it has none."""

    def __init__(self, memory: ClientMemory, late_s: float = 0.0, held: int = 0) -> None:
        self.peer = SimpleNamespace(host="10.0.0.1")
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
    return OpenConnections(cast(Any, SimpleNamespace(config=config, client_memory=memory)))


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
