"""Redis reaches maxmemory: ends, acknowledgements and deletions still work, retention frees memory, and waiting
producers continue by themselves.  No acknowledged record above the log start is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.structs import OffsetAndMetadata

from redis_ledger import AsyncClient
from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.server import HttpServer
from redis_ledger.client.models import Record
from tests.support.broker import one
from tests.support.busy_machine import within
from tests.support.kafka_client import listening
from tests.support.redis_servers import Server, redis_server

MAXMEMORY, KEPT = 20_000_000, 4_000_000
SIZE = 20_000
RECOVERED_S_MAX = 10.0
PATIENCE_S = 60.0


class Doors:
    """A broker on a separate Redis with little memory."""

    def __init__(self, redis: Server, http: str, kafka: str) -> None:
        self.redis, self.kafka = redis, kafka
        self._http = httpx.AsyncClient(base_url=f"{http}/v1", timeout=30, trust_env=False)
        self.url = http

    async def close(self) -> None:
        await self._http.aclose()

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return await self._http.request(method, path, json=body, headers=headers)

    async def done(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        answer = await self.call(method, path, body, **headers)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    async def fill(self) -> None:
        """Until records are refused."""
        text = os.urandom(SIZE).hex()
        while (
            answer := await self.call("POST", "/topics/ballast/records", {"records": [{"text": text}] * 20})
        ).is_success:
            pass
        assert answer.status_code == 507, answer.text
        assert answer.headers["retry-after"] == "1"

    async def when_there_is_room(self, topic: str, records: Any) -> httpx.Response:
        async with within(RECOVERED_S_MAX):
            while (answer := await self.call("POST", f"/topics/{topic}/records", records)).status_code == 507:
                await asyncio.sleep(0.05)  # Redis frees in the background
        return answer

    def limit(self, maxmemory: int) -> None:
        """Records that are refused leave room for smaller ones; with less memory nothing fits."""
        assert self.redis.ask("CONFIG", "SET", "maxmemory", maxmemory) == b"OK"


@pytest.fixture
async def doors(prefix) -> AsyncIterator[Doors]:
    with redis_server(maxmemory=str(MAXMEMORY), maxmemory_policy="noeviction") as redis:
        async with contextlib.AsyncExitStack() as stack:
            broker = await stack.enter_async_context(one(redis.url, prefix))
            server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=2)
            await server.start()
            stack.push_async_callback(server.stop)
            host, port = await stack.enter_async_context(listening(broker))
            made = Doors(redis, server.address, f"{host}:{port}")
            stack.push_async_callback(made.close)
            yield made


async def until(holds: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.05)  # producers are at work


async def test_producers_continue_without_a_restart_when_retention_makes_room(doors):
    await doors.done("POST", "/topics", {"name": "t", "partitions": 1})
    kept: dict[int, bytes] = {}  # offset → value, of what was acknowledged
    by_rest = by_kafka = refused = 0
    stopped = asyncio.Event()

    async def write_by_rest() -> None:
        nonlocal by_rest, refused
        while not stopped.is_set():
            text = f"rest {by_rest} {os.urandom(SIZE // 2).hex()}"
            answer = await doors.call("POST", "/topics/t/records", {"records": [{"text": text}]})
            if answer.is_success:
                kept[answer.json()["results"][0]["base_offset"]] = text.encode()
                by_rest += 1
            else:
                assert answer.status_code == 507, answer.text
                refused += 1
                await asyncio.sleep(0.2)

    async def write_by_kafka() -> None:
        nonlocal by_kafka
        async with AIOKafkaProducer(bootstrap_servers=doors.kafka, enable_idempotence=True, linger_ms=1) as producer:
            while not stopped.is_set():
                values = [f"kafka {by_kafka + n} {os.urandom(SIZE // 2).hex()}".encode() for n in range(10)]
                sent = [await producer.send("t", value, partition=0) for value in values]
                for value, placed in zip(values, await asyncio.gather(*sent), strict=True):
                    kept[placed.offset] = value
                by_kafka += len(values)

    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        group.create_task(write_by_rest())
        group.create_task(write_by_kafka())
        # Given a Redis that two producers have filled, and that keeps everything
        await until(lambda: refused >= 3)
        # When the operator lowers the retention, as advised
        before, began = (by_rest, by_kafka), loop.time()
        await doors.done("PATCH", "/topics/t", {"settings": {"retention_bytes": KEPT}})
        # Then both go on
        await until(lambda: by_rest > before[0] and by_kafka > before[1], RECOVERED_S_MAX)
        print(f"recovered after {loop.time() - began:.1f} s")
        # and keep going while more than the memory holds passes through
        await until(lambda: len(kept) * SIZE > MAXMEMORY + 2 * KEPT)
        stopped.set()
    await assert_kept(doors, kept)


async def assert_kept(doors: Doors, kept: dict[int, bytes]) -> None:
    """Asserts that all acknowledged records above the log start exist, in order per producer.  Retention continues
    during the read, so the log start is read afterwards."""
    place = TopicPartition("t", 0)
    found: dict[int, bytes] = {}
    async with AIOKafkaConsumer(bootstrap_servers=doors.kafka, auto_offset_reset="earliest") as consumer:
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        end = (await consumer.end_offsets([place]))[place]
        async with within(PATIENCE_S):
            while not found or max(found) < end - 1:
                for message in (await consumer.getmany(place, timeout_ms=1000)).get(place, ()):
                    found[message.offset] = message.value
        start = (await consumer.beginning_offsets([place]))[place]
    found = {offset: value for offset, value in found.items() if offset >= start}
    expected = {offset: value for offset, value in kept.items() if offset >= start}
    assert expected
    assert {offset: found.get(offset) for offset in expected} == expected
    numbers = [int(value.split()[1]) for _, value in sorted(found.items()) if value.startswith(b"kafka")]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))


async def test_a_limit_that_was_set_before_keeps_producers_going(doors):
    await doors.done("POST", "/topics", {"name": "t", "partitions": 1, "settings": {"retention_bytes": KEPT}})
    text, longest, loop = os.urandom(SIZE).hex(), 0.0, asyncio.get_running_loop()
    written, since = 0, loop.time()
    while written * 20 * 2 * SIZE < 2 * MAXMEMORY:
        answer = await doors.call("POST", "/topics/t/records", {"records": [{"text": text}] * 20})
        if answer.is_success:
            longest, since, written = max(longest, loop.time() - since), loop.time(), written + 1
        else:
            assert answer.status_code == 507
            await asyncio.sleep(0.1)
    assert longest < RECOVERED_S_MAX


async def test_deleting_records_gives_memory_back_at_once(doors):
    await doors.done("POST", "/topics", {"name": "ballast", "partitions": 1})
    await doors.fill()
    admin = AIOKafkaAdminClient(bootstrap_servers=doors.kafka)
    await admin.start()
    try:
        await admin.delete_records({TopicPartition("ballast", 0): RecordsToDelete(before_offset=-1)})
    finally:
        await admin.close()
    much = {"records": [{"text": os.urandom(SIZE).hex()}] * 200}
    assert (await doors.when_there_is_room("ballast", much)).is_success


async def test_a_full_redis_takes_what_ends_acknowledges_and_sets(doors, prefix):
    # Given messages that were received, transactions, and something that is scheduled
    for topic in ("t", "ballast"):
        await doors.done("POST", "/topics", {"name": topic, "partitions": 1})
    await doors.done("POST", "/topics/t/subscriptions", {"name": "s"})
    await doors.done("POST", "/topics/t/records", {"records": [{"text": f"{n}"} for n in range(10)]})
    await doors.done("POST", "/topics/t/scheduled", {"text": "later", "deliver_after": 3_000})
    received = await doors.done("POST", "/topics/t/subscriptions/s:receive", {"consumer": "c", "max_records": 4})
    ids = [message["id"] for message in received["messages"]]
    txns = [(await doors.done("POST", "/transactions", {"timeout_ms": 60_000}))["id"] for _ in range(3)]
    for txn in txns:
        await doors.done("POST", "/topics/t/records", {"records": [{"text": txn}], "transaction": txn})
    await doors.fill()
    doors.limit(MAXMEMORY // 2)
    # When it is full, then
    call = doors.done
    await call("POST", "/topics/t/subscriptions/s:ack", {"consumer": "c", "ids": ids[:1]})
    await call("POST", "/topics/t/subscriptions/s:ack", {"consumer": "c", "ids": ids[1:2]}, **{"idempotency-key": "a"})
    await call("POST", "/topics/t/subscriptions/s:ack", {"consumer": "c", "ids": ids[2:3], "transaction": txns[0]})
    await call("POST", f"/transactions/{txns[0]}:commit", {})
    await call("POST", f"/transactions/{txns[1]}:abort", {})
    await call("POST", f"/transactions/{txns[2]}:commit", {}, **{"idempotency-key": "c"})
    ack = {"topic": "t", "subscription": "s", "consumer": "c", "ids": ids[3:4]}
    await call("POST", "/transactions:execute", {"acks": [ack]}, **{"idempotency-key": "e"})
    await call("PATCH", "/topics/t", {"settings": {"retention_ms": 3_600_000}})
    await call("POST", "/topics/t/subscriptions/s:receive", {"consumer": "c", "max_records": 4})
    # a Kafka group that is new commits its offset
    async with AIOKafkaConsumer("t", bootstrap_servers=doors.kafka, group_id="g", enable_auto_commit=False) as consumer:
        place = TopicPartition("t", 0)
        await consumer.commit({place: OffsetAndMetadata(5, "")})
        assert await consumer.committed(place) == 5
    # what is due becomes visible
    async with within(PATIENCE_S):
        while (await call("GET", "/topics/t/scheduled"))["scheduled"]:
            await asyncio.sleep(0.1)  # it is due after 3 s
    # another broker starts
    async with one(doors.redis.url, prefix, name="other") as other:
        assert (await other.topics.head("t", 0)).stable_offset == (await other.topics.head("t", 0)).end_offset
    # records and topics are refused
    assert (await doors.call("POST", "/topics/t/records", {"records": [{"text": "x" * SIZE}]})).status_code == 507
    assert (await doors.call("POST", "/topics", {"name": "new", "partitions": 1})).status_code == 507
    # and deleting a topic makes room
    doors.limit(MAXMEMORY)
    await call("DELETE", "/topics/ballast")
    assert (await doors.when_there_is_room("t", {"records": [{"text": "x"}]})).is_success


async def test_the_sdk_waits_until_there_is_room(doors):
    for topic in ("t", "ballast"):
        await doors.done("POST", "/topics", {"name": topic, "partitions": 1})
    await doors.fill()
    doors.limit(MAXMEMORY // 2)
    async with AsyncClient(doors.url) as client:
        sending = asyncio.create_task(client.execute(records={"t": [Record({"order": 1})]}))
        await asyncio.sleep(0.5)  # it is refused meanwhile
        assert not sending.done()
        await doors.done("DELETE", "/topics/ballast")
        async with within(RECOVERED_S_MAX):
            await sending
        received = await doors.done("GET", "/topics/t/partitions/0/records?offset=0")
        assert [record["value"] for record in received["records"]] == [{"order": 1}]
