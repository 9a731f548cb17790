"""A broker that was paused does not carry out what its clients have given up and repeated at another broker.

a   running ──── paused ─────────────────────▶ running    requests that were sent to it are in its sockets
b                       repeated ─▶ new state              must be the state at the end, too
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from redis_ledger.errors import StoreTimeout
from redis_ledger.kafka.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from redis_ledger.kafka.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tests.support.busy_machine import within
from tests.support.kafka_client import KEYS, KafkaClient
from tests.support.kafka_codec import request
from tests.support.kafka_offsets import Producer, commit, committing, fetch
from tests.support.kafka_transactional import OLD, Transactional
from tests.support.processes import PATIENCE_S, RedisServer, Serve, eventually, is_alive, texts
from tests.support.stores import open_store

SHORT_S, LONG_S = 1.7, 3.6  # shorter and longer than the stall after which all waiting requests are dropped
SETTLED_S = 0.4  # a broker that carries out late requests needs a few milliseconds


def address_of(serve: Serve) -> tuple[str, int]:
    host, _, port = serve.field("kafka").rpartition(":")
    return host, int(port)


def send(to: socket.socket, message: Any, version: int) -> None:
    key = KEYS[type(message).__name__]
    to.sendall(b"".join(bytes(piece) for piece in request(key, version, 7, "late", message)))


def has_ended(sent_to: socket.socket) -> bool:
    """Whether the broker has closed the connection, perhaps after responses."""
    try:
        while sent_to.recv(1_000):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


class Sockets:
    """Connections to a broker, of clients that may leave without reading their responses."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address, self._open = address, list[socket.socket]()

    def connect(self) -> socket.socket:
        self._open.append(socket.create_connection(self._address, PATIENCE_S))
        return self._open[-1]

    def send(self, message: Any, version: int) -> None:
        send(self.connect(), message, version)

    def post(self, url: str, path: str, body: bytes, *, key: str = "") -> None:
        """A REST request to the broker's HTTP listener."""
        self._open.append(socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), PATIENCE_S))
        more = f"idempotency-key: {key}\r\n" if key else ""
        head = (
            f"POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n{more}"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self._open[-1].sendall(head.encode() + body)

    def close(self) -> None:
        for each in self._open:
            each.close()


@pytest.fixture
async def brokers(tmp_path: Path) -> AsyncIterator[tuple[Serve, Serve]]:
    words = ("--data-dir", tmp_path / "data", "--durability", "process")
    running = [Serve(*words)]
    try:
        assert running[0].ready
        running.append(Serve(*words))
        assert running[1].ready
        running[1].call("POST", "/v1/topics", {"name": "t", "partitions": 1})
        yield running[0], running[1]
    finally:
        for each in reversed(running):
            each.process.send_signal(signal.SIGCONT)
            each.clean_up()


@asynccontextmanager
async def paused(serve: Serve) -> AsyncIterator[Sockets]:
    """The broker goes on when the block ends, and then has dealt with all that was sent to it."""
    sockets = Sockets(address_of(serve))
    serve.process.send_signal(signal.SIGSTOP)
    try:
        yield sockets
    finally:
        serve.process.send_signal(signal.SIGCONT)
    await asyncio.to_thread(eventually, lambda: is_alive(serve.urls[0]))
    await asyncio.sleep(SETTLED_S)


async def test_requests_of_closed_connections_do_not_take_effect_after_a_pause(brokers):
    a, b = brokers
    async with KafkaClient(address_of(b)) as client:
        writer, offsets = await Transactional(client, "w", OLD).init(), await Producer(client, 3, "o").begin()
        other = await Transactional(client, "i", OLD).init()
        assert await writer.send("t", "t1") == 0
        await offsets.add_group("g2")
        delete_records = DeleteRecordsRequest([DeleteRecordsTopic("t", [DeleteRecordsPartition(0, -1)])], 30_000)
        async with paused(a) as late:
            # Given requests in the sockets of a
            late.send(EndTxnRequest("w", writer.pid, writer.epoch, True), 3)
            late.send(InitProducerIdRequest("i", 30_000), 4)
            late.send(committing(("t", 0, 1), group="g1"), 7)
            late.send(offsets.committing(("t", 0, 1), group="g2"), 3)
            late.send(delete_records, 2)
            late.send(DeleteTopicsRequest(topic_names=["again"], timeout_ms=30_000), 5)
            late.post(a.urls[0], "/v1/topics/t/records", b'{"records": [{"text": "twice"}]}')
            # When their clients give them up, repeat them at b, and go on
            late.close()
            assert await writer.end(True) == 0
            assert await writer.send("t", "t2") == 0
            assert await other.send("t", "other") == 0
            assert await commit(client, ("t", 0, 2), group="g1") == [0]
            await offsets.end(True)
            await offsets.add_group("g2")
            assert await offsets.commit(("t", 0, 2), group="g2") == [0]
            b.call("POST", "/v1/topics", {"name": "again", "partitions": 1})
            await asyncio.sleep(SHORT_S)
        # Then a carries out none of them
        assert texts(b) == ["t1"]
        assert await writer.end(False) == 0
        assert await other.end(True) == 0
        await offsets.end(True)
        assert texts(b) == ["t1", "other"]
        assert await fetch(client, {"t": [0]}, group="g1") == {("t", 0): (2, 0)}
        assert await fetch(client, {"t": [0]}, group="g2") == {("t", 0): (2, 0)}
        assert b.call("GET", "/v1/topics/again")["name"] == "again"


async def test_changes_that_waited_for_a_long_pause_are_dropped_although_their_connections_are_open(brokers):
    """As if the disconnections of their clients had not reached the broker."""
    a, b = brokers
    before = Sockets(address_of(a))
    earlier = [before.connect(), before.connect()]
    async with paused(a) as during:
        changes, lookups = zip(earlier, [during.connect(), during.connect()], strict=True)
        for each in (*changes, *lookups):
            send(each, FindCoordinatorRequest("tid", 1), 2)
        for each in changes:
            send(each, DeleteTopicsRequest(topic_names=["t"], timeout_ms=30_000), 5)
        await asyncio.sleep(LONG_S)
    # Then they are not carried out, and what only looks something up is answered
    assert [has_ended(each) for each in changes] == [True, True]
    assert b.call("GET", "/v1/topics/t")["name"] == "t"
    for each in lookups:
        assert each.recv(1_000)
        send(each, CreateTopicsRequest([CreatableTopic("u", 1, 1, [], [])], 30_000, False), 5)  # it is a new one
        assert each.recv(1_000)
    assert b.call("GET", "/v1/topics/u")["name"] == "u"
    before.close()
    during.close()


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[RedisServer]:
    server = RedisServer(tmp_path / "redis", [])
    yield server
    server.clean_up()


async def test_requests_that_have_begun_do_not_go_on_after_a_long_pause(redis, tmp_path):
    """Each is paused between two calls to Redis, and its client's disconnection does not reach the broker."""
    words = ("--redis", redis.url, "--durability", "lossy")
    a, b = brokers = [Serve("--data-dir", tmp_path / str(n), *words) for n in range(2)]
    try:
        assert all(each.ready for each in brokers)
        b.call("POST", "/v1/topics", {"name": "t", "partitions": 1})
        b.call("POST", "/v1/topics", {"name": "again", "partitions": 1})
        async with (
            KafkaClient(address_of(b)) as client,
            httpx.AsyncClient(base_url=b.urls[0], timeout=PATIENCE_S, trust_env=False) as rest,
        ):
            writer = await Transactional(client, "w", OLD).init()
            assert await writer.send("t", "t1") == 0
            # Given requests at a that have sent their first call
            waiting = Sockets(address_of(a))
            redis.process.send_signal(signal.SIGSTOP)
            waiting.send(EndTxnRequest("w", writer.pid, writer.epoch, True), 3)
            waiting.send(DeleteTopicsRequest(topic_names=["again"], timeout_ms=30_000), 5)
            waiting.send(committing(("t", 0, 1), group="g"), 7)
            waiting.post(a.urls[0], "/v1/topics/t/records", b'{"records": [{"text": "once"}]}', key="k")
            await asyncio.sleep(SETTLED_S)
            # When a is paused before the replies come, and their clients repeat them at b and go on
            async with paused(a):
                redis.process.send_signal(signal.SIGCONT)
                assert await writer.end(True) == 0
                assert await writer.send("t", "t2") == 0
                assert (await rest.delete("/v1/topics/again")).is_success
                assert (await rest.post("/v1/topics", json={"name": "again", "partitions": 1})).is_success
                assert await commit(client, ("t", 0, 2), group="g") == [0]
                await asyncio.sleep(LONG_S)
                once, key = {"records": [{"text": "once"}]}, {"idempotency-key": "k"}
                assert (await rest.post("/v1/topics/t/records", json=once, headers=key)).is_success
            # Then a changes nothing
            assert await writer.end(False) == 0
            assert texts(b) == ["t1", "once"]
            assert b.call("GET", "/v1/topics/again")["name"] == "again"
            assert await fetch(client, {"t": [0]}, group="g") == {("t", 0): (2, 0)}
            waiting.close()
    finally:
        for each in (redis, *brokers):
            each.process.send_signal(signal.SIGCONT)
        for each in brokers:
            each.clean_up()


async def test_call_that_redis_gets_to_after_its_time_is_not_executed(redis):
    """Its broker has answered that it failed, and the client may have gone on at another broker."""
    try:
        store = await open_store(redis.url, timeout_ms=400)
        time = store.topology.owner(0).time
        async with within(PATIENCE_S):
            while time.deadline() == b"":
                await asyncio.sleep(0.02)  # it is read soon after the connection is made
        redis.process.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreTimeout):
            await store.write_allow_oom("SET", b"{k}", "late")
        redis.process.send_signal(signal.SIGCONT)
        assert await store.command("GET", b"{k}", key=b"{k}") is None
        await store.write_allow_oom("SET", b"{k}", "in time")
        assert await store.command("GET", b"{k}", key=b"{k}") == b"in time"
        await store.close()
    finally:
        redis.clean_up()
