"""A client made before a fork: in the child it works by itself, and the parent goes on unharmed."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from redis_ledger import AsyncClient, Client, errors

HANGS_S = 10  # a child that takes longer waits for something that is not there


def in_child(work: Callable[[], Any]) -> Any:
    """What the work returned in a child that was forked here, or the error that it raised."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(HANGS_S)
            try:
                outcome = work()
            except Exception as error:  # noqa: BLE001 - the parent looks at it
                outcome = error
            os.write(writing, pickle.dumps(outcome))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(text) if text else "it hangs"


@pytest.fixture
def client(brokers):
    with Client(brokers.urls) as client:
        client.topics.create("t")
        yield client


def test_a_forked_client_does_everything_with_connections_of_its_own(client):
    def work() -> list[Any]:
        client.topics.describe("t")
        with client.producer("t") as producer:
            producer.send("sent").result()
        with client.transaction() as txn:
            txn.send("t", "in a transaction")
        with client.consumer("t", "s") as consumer:
            return [message.text() for message in consumer.receive(10)]

    with client.producer("t") as producer:
        producer.send("from the parent").result()
        assert in_child(work) == ["from the parent", "sent", "in a transaction"]
        producer.send("again").result()
    assert [message.text() for message in client.read("t")][-1] == "again"


def test_parent_and_child_get_their_own_answers_at_the_same_time(client):
    client.topics.create("u")
    here, there = socket.socketpair()

    def names(name: str, other: socket.socket) -> set[str]:
        """Both ask at the same time, again and again."""
        found = set[str]()
        for _ in range(100):
            other.send(b".")
            if not other.recv(1):
                return found | {"the other one has failed"}
            found.add(client.topics.describe(name).name)
        return found

    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(HANGS_S)
            here.close()
            there.send(repr(names("u", there)).encode())
        finally:
            os._exit(0)
    there.close()
    with here:
        assert names("t", here) == {"t"}
        assert here.recv(100) == b"{'u'}"
    os.waitpid(pid, 0)


def test_what_was_made_before_the_fork_raises_at_once_in_the_child_and_works_in_the_parent(client):
    producer, txn = client.producer("t", linger_ms=60_000), client.transaction()
    consumers = [client.consumer("t", "s", prefetch=prefetch) for prefetch in (0, 100)]
    txn.send("t", "open")
    done, waiting = producer.send("done"), client.producer("t", linger_ms=60_000).send("waits")
    producer.flush()
    for consumer in consumers:
        consumer.receive(1, wait_ms=1)

    raising: dict[str, Callable[[], Any]] = {
        "send": lambda: producer.send("x"),
        "flush": producer.flush,
        "result": waiting.result,
        "transaction": lambda: txn.send("t", "x"),
        "commit": txn.commit,
        "receive": consumers[0].receive,
        "prefetch": consumers[1].receive,
        "topics": client.topics.list,
    }
    for name, act in raising.items():
        assert type(in_child(act)) is errors.ClientClosed, name
    assert in_child(done.result) == done.result()

    producer.send("x")
    producer.flush()
    txn.commit()
    client.close()  # sends what waits
    assert waiting.result().offset >= 0


def test_a_large_value_that_the_parent_reads_is_not_read_in_the_child(client):
    with client.producer("t") as producer:
        producer.send_large(b"x" * 3_000_000)
    (message,) = client.read("t")
    with client.open_large(message) as value:
        pieces = iter(value)
        first = next(pieces)
        assert type(in_child(lambda: list(pieces))) is errors.ClientClosed
        assert len(first) + sum(map(len, pieces)) == 3_000_000


def test_a_client_with_a_transport_of_its_user_is_closed_in_the_child(brokers):
    with Client(brokers.urls, http=httpx.HTTPTransport()) as client:
        assert client.topics.list() == []
        assert type(in_child(client.topics.list)) is errors.ClientClosed
        assert client.topics.list() == []


def test_an_asynchronous_client_works_in_the_loop_of_the_child(brokers):
    client = AsyncClient(brokers.urls)

    async def before() -> Any:
        await client.topics.create("t")
        return client.producer("t")

    async def send(value: str) -> int:
        return (await (await client.producer("t").send(value)).result()).offset

    async def send_by(producer: Any) -> None:
        await (await producer.send("x")).result()

    old = asyncio.run(before())
    assert in_child(lambda: asyncio.run(send("a"))) == 0
    assert type(in_child(lambda: asyncio.run(send_by(old)))) is errors.ClientClosed
    assert in_child(lambda: in_child(lambda: asyncio.run(send("b")))) == 1
