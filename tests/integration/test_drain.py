"""A rolling restart under load: clients see no error, and every acknowledged record is in the log once.

broker a ── SIGTERM ──▶ gone      broker c ── joins      broker b ── SIGTERM ──▶ gone
all the while: Kafka producers (idempotent, transactional), a Kafka group, an SDK producer, an SDK consumer
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from redis_ledger import AsyncClient
from tests.support.busy_machine import within
from tests.support.processes import RedisServer, Serve, eventually
from tests.support.rolling_restart import know_each_other

TOPIC, PARTITIONS = "load", 4
PATIENCE_S = 60.0


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Serve]]:
    """start() is another broker; start(one) is one at the addresses of one that has gone."""
    running: list[Serve] = []

    def one(before: Serve | None = None) -> Serve:
        http, kafka = "127.0.0.1:0", "127.0.0.1:0"
        if before is not None:
            http, kafka = before.urls[0].removeprefix("http://"), before.field("kafka")
        words = ("--data-dir", tmp_path / "data", "--durability", "process", "--kafka", kafka)
        running.append(Serve(*words, http=http))
        return running[-1]

    yield one
    for each in running:
        each.clean_up()


class Load:
    """Replies and records of each client.  errors: what an application would have seen."""

    def __init__(self, first: Serve, second: Serve) -> None:
        self.kafka = f"{first.field('kafka')},{second.field('kafka')}"
        self.urls = [first.urls[0], second.urls[0]]
        self.answered: Counter[bytes] = Counter()
        self.got: Counter[bytes] = Counter()
        self.acknowledged = 0
        self.errors: list[str] = []
        self.is_on = self.is_writing = True
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, *work: Callable[[], Awaitable[None]]) -> None:
        self._tasks += [asyncio.create_task(self._noted(each), name=each.__name__) for each in work]

    async def _noted(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - whatever an application would have seen
            self.errors.append(f"{work.__name__}: {type(error).__name__}: {error}")

    async def __aenter__(self) -> Load:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stops what is still running after a failure.  A client that is stopped waits for its broker, so a second
        cancellation stops that too."""
        for _again in range(10):
            for each in (running := [each for each in self._tasks if not each.done()]):
                each.cancel()
            if running:
                await asyncio.wait(running, timeout=1)

    async def go_on(self) -> None:
        """Until every client has done something more."""
        before = self._done()
        try:
            async with within(PATIENCE_S):
                while any(now <= then for now, then in zip(self._done(), before, strict=True)):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"from {before} only to {self._done()}, {self.errors}") from None

    def _done(self) -> list[int]:
        kinds = (b"plain", b"txn", b"sdk")
        return [
            *(sum(each.startswith(kind) for each in self.answered) for kind in kinds),
            len(self.got),
            self.acknowledged,
        ]

    async def end(self) -> None:
        self.is_on = False
        with contextlib.suppress(TimeoutError):
            async with within(PATIENCE_S):
                await asyncio.wait([each for each in self._tasks if each.get_name() != "group"])
                self.is_writing = False
                await asyncio.wait(self._tasks)
        self.errors += [f"{each.get_name()} does not end" for each in self._tasks if not each.done()]

    async def plain(self) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=self.kafka, enable_idempotence=True, linger_ms=2)
        await producer.start()
        number = 0
        try:
            while self.is_on:
                values = [b"plain-%d" % (number + i) for i in range(20)]
                number += 20
                sent = [await producer.send(TOPIC, each, partition=i % PARTITIONS) for i, each in enumerate(values)]
                await asyncio.gather(*sent)
                self.answered.update(values)
        finally:
            await producer.stop()

    async def transactional(self) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=self.kafka, transactional_id="drained")
        await producer.start()
        number = 0
        try:
            while self.is_on:
                values = [b"txn-%d" % (number + i) for i in range(4)]
                number += 4
                async with producer.transaction():
                    for i, each in enumerate(values):
                        await producer.send(TOPIC, each, partition=i % PARTITIONS)
                self.answered.update(values)
        finally:
            await producer.stop()

    async def group(self) -> None:
        consumer = AIOKafkaConsumer(
            TOPIC, bootstrap_servers=self.kafka, group_id="readers", auto_offset_reset="earliest",
            isolation_level="read_committed", session_timeout_ms=10_000, heartbeat_interval_ms=500,
        )  # fmt: skip
        await consumer.start()
        try:
            while self.is_writing or set(self.answered) - set(self.got):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    self.got.update(each.value for each in records)
        finally:
            await consumer.stop()

    async def sdk(self) -> None:
        async with AsyncClient(self.urls) as client:
            number = 0
            async with client.producer(TOPIC) as producer:
                while self.is_on:
                    values = [b"sdk-%d" % (number + i) for i in range(10)]
                    number += 10
                    await asyncio.gather(*[(await producer.send(each)) for each in values])
                    self.answered.update(values)

    async def subscription(self) -> None:
        async with AsyncClient(self.urls) as client:
            async with client.consumer(TOPIC, "workers") as consumer:
                while self.is_on:
                    messages = await consumer.receive(100, wait_ms=300)
                    await consumer.ack(messages)
                    self.acknowledged += len(messages)


def is_closed(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port))).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_redis_that_does_not_answer_keeps_no_door_open(tmp_path):
    redis = RedisServer(tmp_path / "redis", ("appendonly yes", "appendfsync always"))
    broker = Serve("--redis", redis.url)
    try:
        url = broker.urls[0]
        redis.process.send_signal(signal.SIGSTOP)
        broker.process.send_signal(signal.SIGTERM)
        eventually(lambda: is_closed(url), 8.0)  # the first call to Redis is given up after ten seconds
        redis.process.send_signal(signal.SIGCONT)
        assert broker.end()[0] == 0
    finally:
        broker.clean_up()
        redis.clean_up()


async def gone(broker: Serve) -> int:
    """Its exit code."""
    return await asyncio.to_thread(broker.terminate)


@pytest.mark.full
async def test_a_rolling_restart_causes_no_client_errors(start):
    first, second = await asyncio.to_thread(start), await asyncio.to_thread(start)
    async with AsyncClient([first.urls[0]]) as client:
        await client.topics.create(TOPIC, PARTITIONS)
        await client.subscriptions.create(TOPIC, "workers")
    await know_each_other(first, second)
    async with Load(first, second) as load:
        load.start(load.plain, load.transactional, load.group, load.sdk, load.subscription)
        await load.go_on()
        assert await gone(first) == 0
        await load.go_on()
        third = await asyncio.to_thread(start, first)
        await know_each_other(second, third)
        await load.go_on()
        assert load.errors == []
        assert await gone(second) == 0
        await load.go_on()
        await load.end()
    assert load.errors == []
    there: Counter[bytes] = Counter()
    async with AsyncClient([third.urls[0]]) as client:
        for number in range(PARTITIONS):
            async for message in client.read(TOPIC, number, "earliest"):
                there[message.value or b""] += 1
    assert {value: count for value, count in there.items() if count != 1} == {}, "written twice"
    assert set(load.answered) - set(there) == set(), "answered and lost"
    assert set(load.answered) - set(load.got) == set(), "not got by the group"
