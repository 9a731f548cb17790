"""A group's coordinator is killed under a real client: members continue, and read no record twice."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
import redis
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from tests.support.busy_machine import within
from tests.support.processes import RedisServer, Serve
from tests.support.rolling_restart import know_each_other

TOPIC, GROUP, PARTITIONS, MEMBERS = "t", "g", 6, 3
PATIENCE_S = 60.0


@pytest.fixture
def brokers(tmp_path):
    server = RedisServer(tmp_path / "redis", ("appendonly yes", "appendfsync no"))
    started = [Serve("--redis", server.url, "--durability", "process") for _ in range(2)]
    try:
        asyncio.run(know_each_other(*started))
        yield started
    finally:
        for each in started:
            each.clean_up()
        server.clean_up()


class Load:
    """A producer, and members that commit what they have read after every poll.  errors: commits that were refused."""

    def __init__(self, kafka):
        self._kafka = kafka
        self.read: Counter[tuple[int, int]] = Counter()
        self.errors: list[str] = []
        self.sent = 0
        self.is_on = True

    async def produce(self):
        async with AIOKafkaProducer(bootstrap_servers=self._kafka) as producer:
            while self.is_on:
                await producer.send(TOPIC, b"value", partition=self.sent % PARTITIONS)
                self.sent += 1
                await asyncio.sleep(0.01)  # the pace of the load

    async def consume(self):
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self._kafka, group_id=GROUP, auto_offset_reset="earliest", enable_auto_commit=False,
            heartbeat_interval_ms=300, session_timeout_ms=20_000, retry_backoff_ms=50,
        )  # fmt: skip
        consumer.subscribe([TOPIC])
        await consumer.start()
        try:
            while self.is_on:
                batches = await consumer.getmany(timeout_ms=200)
                self.read.update((where.partition, each.offset) for where, some in batches.items() for each in some)
                ends = {TopicPartition(TOPIC, w.partition): some[-1].offset + 1 for w, some in batches.items()}
                while ends:
                    try:
                        await consumer.commit(ends)
                        break
                    except KafkaError as error:
                        if not error.retriable:
                            self.errors.append(repr(error))
                            break
        finally:
            await consumer.stop()

    async def go_on(self):
        """Until every partition has been read from once more, twice."""
        for _ in range(2):
            before = set(self.read)
            async with within(PATIENCE_S):
                while len({partition for partition, _ in self.read.keys() - before}) < PARTITIONS:
                    await asyncio.sleep(0.02)  # between two looks at what others do


@pytest.mark.full
async def test_members_continue_when_their_coordinator_is_killed(brokers, tmp_path):
    kafka = ",".join(each.field("kafka") for each in brokers)
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    await admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    await admin.close()
    # Given a group that has come to rest
    load = Load(kafka)
    tasks = [asyncio.create_task(load.produce()), *(asyncio.create_task(load.consume()) for _ in range(MEMBERS))]
    try:
        await load.go_on()
        with redis.Redis(unix_socket_path=str(tmp_path / "redis" / "s")) as client:
            async with within(PATIENCE_S):
                while client.hget("rl:{group:g}:state", "members") != str(MEMBERS).encode():
                    await asyncio.sleep(0.02)  # between two looks at what others do
            await load.go_on()
            generation = client.hget("rl:{group:g}:state", "told")
            owner = client.hget("rl:{group:g}:state", "owner").decode()
            # When its coordinator is killed
            (killed,) = [each for each in brokers if f"-{each.process.pid}-" in owner]
            await asyncio.to_thread(killed.kill)
            await load.go_on()
            # Then it goes on in the same generation elsewhere
            assert client.hget("rl:{group:g}:state", "owner").decode() != owner
            assert client.hget("rl:{group:g}:state", "told") == generation
            assert client.hget("rl:{group:g}:state", "members") == str(MEMBERS).encode()
    finally:
        load.is_on = False
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [each for each in outcomes if each is not None] == []
    assert load.errors == []
    assert {where: times for where, times in load.read.items() if times > 1} == {}
