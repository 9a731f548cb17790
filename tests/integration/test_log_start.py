"""The log start moves, by each of its causes: the results of every kind of reader.

    offset   0  1  2  3  4  5  6    7  8  9     10 11
    record   a0 a1 a2 b0 b1 x  ✗x   c0 c1 c2    d0 d1      x was aborted, ✗x is its marker
    time     0 ..............       an hour later
    start                      6        bytes: a marker has none
                                    7   time, acknowledgements
                                       8  DeleteRecords, inside a batch

Where the ledger was sealed behind 6, its payload is gone from Redis; else all of it is in one ledger, and stays.
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import httpx
import pytest

from redis_ledger import AsyncClient
from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.server import HttpServer
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.fetch import offsets_for_times as times
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import ManualClock
from redis_ledger.errors import OffsetOutOfRange
from redis_ledger.ids import MessageId
from redis_ledger.kafka.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.records.batch import split
from redis_ledger.records.read import decode
from tests.support.broker import eventually, one, receive_values, values_of
from tests.support.kafka_batches import batch, fetch, fetched, produce, produced
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_offsets import commit
from tests.support.kafka_offsets import fetch as fetch_committed

HOUR_MS = 3_600_000
OUT_OF_RANGE = 1
VALUES = {7: "c0", 8: "c1", 9: "c2", 10: "d0", 11: "d1"}


class World(NamedTuple):
    """start: where the log begins once `move` was called.  producer_id: of the first three records."""

    broker: Broker
    clock: ManualClock
    kafka: KafkaClient
    http: httpx.AsyncClient
    sdk: AsyncClient
    cause: str
    start: int
    times: dict[int, int]
    producer_id: int

    @property
    def first(self) -> int:
        """The first record that is left."""
        return min(self.left)

    @property
    def left(self) -> dict[int, str]:
        return {offset: value for offset, value in VALUES.items() if offset >= self.start}

    async def move(self) -> None:
        broker = self.broker
        if self.cause == "time":
            await broker.topics.grow("t", settings={"retention_ms": HOUR_MS // 2})
        elif self.cause == "bytes":
            entries = [e for e in (await all_entries(broker)) if e.base_offset >= 7]
            await broker.topics.grow("t", settings={"retention_bytes": sum(e.size for e in entries)})
        elif self.cause == "acknowledged":
            await broker.topics.grow("t", settings={"retention_acknowledged": 1, "retention_ms": 0})
            await broker.subscriptions.create("t", "main")
            got = await receive_values(broker, "t", "main")
            await broker.subscriptions.ack("t", "main", "c1", [at for at in got if at.offset < 7])
        elif self.cause == "delete_records":
            assert await broker.topics.delete_records("t", 0, 8) == 8
        else:
            wanted = DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 8)])
            (topic,) = (await self.kafka.ask(DeleteRecordsRequest([wanted]), 2)).topics
            assert (topic.partitions[0].error_code, topic.partitions[0].low_watermark) == (0, 8)
        await broker.maintenance.retain()
        assert (await broker.topics.head("t", 0)).start_offset == self.start

    async def fetch(self, offset: int, committed: bool = True) -> Any:
        return fetched(await self.kafka.ask(fetch("t", offset, committed=committed), 12))

    async def find(self, wanted: int) -> tuple[int, int, int]:
        """Kafka's ListOffsets: error code, offset, timestamp."""
        topics = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, wanted)])]
        (found,) = (await self.kafka.ask(ListOffsetsRequest(-1, 1, topics), 7)).topics[0].partitions
        return found.error_code, found.offset, found.timestamp


async def all_entries(broker: Broker) -> Any:
    partition = await broker.catalog.partition("t", 0)
    return (await partition.reader.read(0, committed=False, bytes_max=1 << 20)).entries


async def write(broker: Broker, values: list[str], at_ms: int, **more: Any) -> None:
    rows = [NewRecord(None, value.encode(), timestamp_ms=at_ms + n) for n, value in enumerate(values)]
    await broker.records.produce("t", rows, **more)


async def opened(stack: contextlib.AsyncExitStack, url: str, prefix: str, cause: str, sealed: bool) -> World:
    clock = ManualClock()
    broker = await stack.enter_async_context(one(url, prefix, clock=clock))
    kafka = await stack.enter_async_context(KafkaClient(await stack.enter_async_context(listening(broker))))
    server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=1)
    await server.start()
    stack.push_async_callback(server.stop)
    http = await stack.enter_async_context(httpx.AsyncClient(base_url=server.address))
    sdk = await stack.enter_async_context(AsyncClient(server.address))
    await broker.topics.create("t")

    t0 = clock.now_ms()
    producer_id, _ = await broker.producers.allocate()
    first = batch("a0", "a1", "a2", producer=(producer_id, 0, 0), at_ms=t0)
    assert produced(await kafka.ask(produce("t", first), 9)).base_offset == 0
    await write(broker, ["b0", "b1"], t0 + 10)
    txn = (await broker.transactions.begin()).id
    await write(broker, ["x"], t0 + 20, transaction=txn)
    await broker.transactions.abort(txn)
    if sealed:
        assert await (await broker.catalog.partition("t", 0)).seal() == 2
    clock.advance(HOUR_MS)
    await write(broker, ["c0", "c1", "c2"], clock.now_ms())
    await write(broker, ["d0", "d1"], clock.now_ms() + 10)
    times = {7 + n: clock.now_ms() + n for n in range(3)} | {10 + n: clock.now_ms() + 10 + n for n in range(2)}
    start = 8 if cause.endswith("delete_records") else 6 if cause == "bytes" else 7
    return World(broker, clock, kafka, http, sdk, cause, start, times, producer_id)


CAUSES = {  # and whether the ledger was sealed
    "time": True, "bytes": False, "acknowledged": True, "delete_records": False, "kafka_delete_records": True,
}  # fmt: skip
FORCED = [cause for cause in CAUSES if cause != "acknowledged"]  # those that ask no subscription


@pytest.fixture
async def world_of(redis_url, prefix):
    async with contextlib.AsyncExitStack() as stack:
        yield lambda cause: opened(stack, redis_url, prefix, cause, CAUSES[cause])


@pytest.fixture(params=CAUSES)
async def world(request, world_of):
    return await world_of(request.param)


@pytest.fixture(params=FORCED)
async def forced(request, world_of):
    return await world_of(request.param)


# -- by offset and by time ---------------------------------------------------------------------------------------------


async def test_a_kafka_consumer_gets_the_log_start_and_continues_there(world):
    await world.move()
    below = await world.fetch(world.start - 1)
    assert (below.error_code, below.log_start_offset, below.high_watermark) == (OUT_OF_RANGE, world.start, 12)
    for committed in (True, False):
        found = await world.fetch(world.start, committed)
        assert (found.error_code, found.log_start_offset) == (0, world.start)
        batches = [decode(data) for header, data in split(found.records) if not header.is_control]
        # The batch that holds the offset comes whole; a consumer skips what is below it.
        assert {
            r.offset: (r.value or b"").decode() for rows in batches for r in rows if r.offset >= world.start
        } == world.left


async def test_list_offsets_finds_nothing_below_the_log_start(world):
    await world.move()
    assert await world.find(-2) == (0, world.start, -1)
    assert await world.find(0) == (0, world.first, world.times[world.first])
    assert await world.find(world.times[9]) == (0, 9, world.times[9])
    assert await world.find(-3) == (0, 11, world.times[11])
    assert await world.find(-1) == (0, 12, -1)


async def test_the_newest_record_is_the_newest_of_those_that_are_left(world_of):
    world = await world_of("time")
    # Given a log whose newest record, by its own time, is the first one
    await world.broker.topics.create("u")
    for value, at_ms in (("newest", 9_000), ("a", 1_000), ("b", 3_000), ("c", 2_000)):
        await world.broker.records.produce("u", [NewRecord(None, value.encode(), timestamp_ms=at_ms)])
    partition = await world.broker.catalog.partition("u", 0)

    async def find(time_ms: int | None) -> object:
        return await times.find(partition, time_ms, True, world.broker.partition_fetch.budget())

    assert await find(None) == (0, 9_000)
    # When that is trimmed
    assert await world.broker.topics.delete_records("u", 0, 1) == 1
    # Then another is, and what is found by a time is right as well
    assert await find(None) == (2, 3_000)
    assert await find(2_000) == (2, 3_000)
    assert await find(9_000) is None
    await world.broker.topics.delete_records("u", 0, None)
    assert await find(None) is None


async def test_rest_shows_what_is_left_and_refuses_what_is_gone(world):
    await world.move()
    path = "/v1/topics/t/partitions/0/records"
    refused = await world.http.get(path, params={"offset": world.start - 1})
    assert refused.status_code == 416
    assert refused.json().items() >= {"code": "offset_out_of_range", "start_offset": world.start}.items()
    for offset in ("earliest", world.start):
        answer = (await world.http.get(path, params={"offset": offset})).json()
        assert {r["offset"]: r["text"] for r in answer["records"]} == world.left
        assert (answer["start_offset"], answer["next_offset"]) == (world.start, 12)
    found = await world.http.get("/v1/topics/t/partitions/0/offsets", params={"timestamp_ms": 0})
    assert found.json() == {"offset": world.first, "timestamp_ms": world.times[world.first]}


async def test_the_sdk_reads_what_is_left(world):
    await world.move()
    assert {m.offset: m.value.decode() async for m in world.sdk.read("t")} == world.left
    assert {m.offset: m.value.decode() async for m in world.sdk.read("t", 0, world.start)} == world.left
    with pytest.raises(OffsetOutOfRange):
        [_ async for _ in world.sdk.read("t", 0, world.start - 1)]


async def test_another_broker_that_has_seen_nothing_reads_the_same(world, redis_url, prefix):
    await world.move()
    async with one(redis_url, prefix, clock=world.clock) as other:
        whole = await other.records.fetch("t", 0, "earliest")
        found = {r.offset: (r.value or b"").decode() for each in whole.batches for r in decode(each.data)}
        assert {offset: value for offset, value in found.items() if offset >= world.start} == world.left
        with pytest.raises(OffsetOutOfRange):
            await other.records.fetch("t", 0, world.start - 1)


# -- subscriptions and groups ------------------------------------------------------------------------------------------


async def test_a_new_subscription_gets_what_is_left(world):
    await world.move()
    async with world.sdk.consumer("t", "late") as consumer:
        got = {m.offset: m.value.decode() for m in await consumer.receive(100, wait_ms=200)}
    assert got == world.left


async def test_lagging_subscription_continues_at_the_log_start(forced):
    broker = forced.broker
    await broker.subscriptions.create("t", "s")
    await broker.subscriptions.create("t", "read", "exclusive")
    # Given one that has read nothing, and one that has acknowledged a1 and has the rest, a2 in a transaction
    await receive_values(broker, "t", "read")
    txn = (await broker.transactions.begin()).id
    await broker.subscriptions.ack("t", "read", "c1", [MessageId(0, 1)])
    await broker.subscriptions.ack("t", "read", "c1", [MessageId(0, 2), MessageId(0, 9)], transaction=txn)
    await forced.move()
    # Then what was leased and pending below the start is released
    (cursor,) = (await broker.subscriptions.stats("t", "read")).cursors
    left = len(forced.left)
    assert (cursor.mark_delete, cursor.read, cursor.leased, cursor.pending) == (forced.first, 12, left - 1, 1)
    assert cursor.backlog == left
    # and to acknowledge it all the same is no mistake; the transaction commits what it has
    assert await broker.subscriptions.ack("t", "read", "c1", [MessageId(0, 0), MessageId(0, 3)]) == 2
    await broker.transactions.commit(txn)
    (cursor,) = (await broker.subscriptions.stats("t", "read")).cursors
    assert (cursor.pending, cursor.backlog) == (0, left - 1)
    # and the others are delivered, once and again
    got = await receive_values(broker, "t", "s")
    assert {at.offset: value for at, value in got.items()} == forced.left
    await broker.subscriptions.nack("t", "s", "c1", None)
    got = await receive_values(broker, "t", "s")
    assert {at.offset: value for at, value in got.items()} == forced.left


async def test_a_subscription_that_seeks_below_the_log_start_begins_there(world):
    await world.move()
    subscriptions = world.broker.subscriptions
    await subscriptions.create("t", "s", start="latest")
    for to, first in (
        ({"to": "earliest"}, 0),
        ({"offsets": {0: 0}}, 0),
        ({"timestamp_ms": 0}, 0),
        ({"offsets": {0: 9}}, 9),
    ):
        await subscriptions.seek("t", "s", **to)
        (cursor,) = (await subscriptions.stats("t", "s")).cursors
        assert cursor.mark_delete == max(first, world.start)
        got = await receive_values(world.broker, "t", "s")
        assert sorted(at.offset for at in got) == [offset for offset in world.left if offset >= first]


async def test_a_kafka_group_keeps_its_offset_and_its_lag_counts_what_is_left(world):
    assert await commit(world.kafka, ("t", 0, 2)) == [0]
    await world.move()
    assert await fetch_committed(world.kafka, {"t": [0]}) == {("t", 0): (2, 0)}
    (cursor,) = (await world.broker.subscriptions.stats("t", "g")).cursors
    assert cursor.backlog == len(world.left)


# -- what goes on above it ---------------------------------------------------------------------------------------------


async def test_a_batch_that_was_trimmed_is_still_known_when_it_is_sent_again(world):
    await world.move()
    again = batch("a0", "a1", "a2", producer=(world.producer_id, 0, 0))
    assert produced(await world.kafka.ask(produce("t", again), 9)).base_offset == 0
    following = batch("e", producer=(world.producer_id, 0, 3))
    assert produced(await world.kafka.ask(produce("t", following), 9)).base_offset == 12


async def test_an_open_transaction_keeps_its_records_and_all_behind_them(forced):
    broker, clock = forced.broker, forced.clock
    txn = (await broker.transactions.begin(600_000)).id
    await write(broker, ["open"], clock.now_ms(), transaction=txn)
    await write(broker, ["behind"], clock.now_ms())
    await forced.move()
    # When more is to go than the transaction lets
    await broker.topics.grow("t", settings={"retention_bytes": 0})
    assert await broker.topics.delete_records("t", 0, 14) == 12
    await broker.maintenance.retain()
    assert [entry.base_offset for entry in await entries_from(broker, 12)] == [12, 13]
    await broker.topics.grow("t", settings={"retention_bytes": 1 << 20})
    await broker.transactions.commit(txn)
    # Then it all becomes visible
    assert [m.value async for m in forced.sdk.read("t")] == [b"open", b"behind"]


async def entries_from(broker: Broker, offset: int) -> Any:
    partition = await broker.catalog.partition("t", 0)
    return (await partition.reader.read(offset, committed=False, bytes_max=1 << 20)).entries


async def test_retention_keeps_scheduled_records(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", settings={"retention_bytes": 0})
        rows = [NewRecord(None, b"now"), NewRecord(None, b"later", deliver_after_ms=4_000)]
        await broker.records.produce("t", rows)
        await broker.maintenance.retain()
        await broker.maintenance.retain()
        assert (await broker.topics.head("t", 0)).start_offset == 1
        await broker.topics.grow("t", settings={"retention_bytes": -1})
        assert await eventually(lambda: values_of(broker, "t"), ["later"], 30) == ["later"]


async def test_read_ahead_of_deleted_records_is_not_returned(redis_url, prefix):
    async with one(redis_url, prefix, tail_cache_bytes=1 << 20) as writer:
        await writer.topics.create("t")
        for n in range(8):
            await writer.records.produce("t", [NewRecord(None, f"{n}".encode() * 1000)])
        async with one(redis_url, prefix, tail_cache_bytes=1 << 20) as broker:
            partition = await broker.catalog.partition("t", 0)
            # Given a reader that goes on where it was, so that the next batches are read before it asks
            for offset in range(3):
                await partition.reader.read(offset, committed=True, bytes_max=1000)
            assert partition.reader.ahead.begun is not None
            # When they are deleted
            await broker.topics.delete_records("t", 0, 6)
            # Then it gets an error
            with pytest.raises(OffsetOutOfRange) as refused:
                await partition.reader.read(3, committed=True, bytes_max=1000)
            assert refused.value.facts["start_offset"] == 6


async def test_a_topic_whose_log_start_has_moved_is_deleted_without_a_trace(world, prefix):
    await world.move()
    await world.broker.subscriptions.create("t", "s")
    await world.broker.topics.delete("t")
    found = await world.broker.store.everywhere("KEYS", f"{prefix}:{{t:0}}:*")
    assert [key for reply in found for key in (reply if isinstance(reply, list) else [reply]) if key] == []
