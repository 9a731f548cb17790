"""Requests that arrived before a stall of the broker ended: which of them a connection carries out."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redis_ledger.broker.client_memory import ClientMemory
from redis_ledger.kafka import connection as module
from redis_ledger.kafka.connection import Connection
from redis_ledger.kafka.listener import Listener
from redis_ledger.kafka.open_connections import OpenConnections
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.router import routes
from tests.support.kafka_codec import request

DELETE_TOPICS, FIND_COORDINATOR = 20, 10


class Transport:
    def __init__(self) -> None:
        self.is_aborted = False

    def get_extra_info(self, name: str) -> object:
        return None

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True


class Client:
    """handled: the keys of the requests that were carried out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        config = SimpleNamespace(
            kafka_request_bytes_max=1_000, auth_required=False, kafka_connections_max=10, kafka_inflight_bytes_max=1_000
        )
        quotas, lag = SimpleNamespace(is_on=False), SimpleNamespace(is_doubtful=lambda now: False)
        memory = ClientMemory(200, has_metrics=False)
        broker = SimpleNamespace(config=config, client_memory=memory, quotas=quotas, event_loop_lag=lag)
        self.handled, self.transport = list[int](), Transport()
        table = {key: routes()[key]._replace(handle=self._handler(key)) for key in (DELETE_TOPICS, FIND_COORDINATOR)}
        monkeypatch.setattr(module, "routes", lambda: table)
        listener = SimpleNamespace(name="plain", tls=None)
        self.connection = Connection(OpenConnections(cast(Any, broker)), cast(Listener, listener))
        self.connection.connection_made(cast(Any, self.transport))

    def _handler(self, key: int) -> Any:
        async def handle(*_: Any) -> None:
            self.handled.append(key)

        return handle

    async def send(self, key: int, version: int, message: Any) -> None:
        data = b"".join(bytes(piece) for piece in request(key, version, 7, "late", message))
        self.connection.get_buffer(len(data))[: len(data)] = data
        self.connection.buffer_updated(len(data))
        for _ in range(10):
            await asyncio.sleep(0)

    async def delete(self) -> None:
        await self.send(DELETE_TOPICS, 1, DeleteTopicsRequest(topic_names=["t"]))

    async def look_up(self) -> None:
        await self.send(FIND_COORDINATOR, 1, FindCoordinatorRequest("tid", 1))


@pytest.fixture
async def client(monkeypatch):
    made = Client(monkeypatch)
    yield made
    made.connection.connection_lost(None)
    await asyncio.sleep(0)


async def test_an_old_change_closes_its_connection(client):
    client.connection.doubt(has_unread=True)
    await client.delete()
    assert (client.handled, client.transport.is_aborted) == ([], True)


async def test_an_old_lookup_is_answered_and_what_comes_after_it_is_new(client):
    client.connection.doubt(has_unread=True)
    await client.look_up()
    await client.delete()
    assert (client.handled, client.transport.is_aborted) == ([FIND_COORDINATOR, DELETE_TOPICS], False)


async def test_a_connection_on_which_nothing_waits_is_not_old(client):
    client.connection.doubt(has_unread=False)
    await client.delete()
    assert (client.handled, client.transport.is_aborted) == ([DELETE_TOPICS], False)
