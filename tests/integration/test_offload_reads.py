"""Reads of offloaded records through every API, across the border to Redis."""

from __future__ import annotations

import httpx
import pytest

from redis_ledger import AsyncClient
from redis_ledger.app.http.application import create_app
from redis_ledger.ids import MessageId
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.offload import manifest
from redis_ledger.offload.manifest import Plan, Stretch
from redis_ledger.offload.scripts import OffloadScripts
from redis_ledger.records.batch import LOG_APPEND_TIME, TRANSACTIONAL, BatchHeader, read_header, split
from redis_ledger.records.build import encode
from tests.support.broker import one, records, values_of
from tests.support.kafka_batches import batch, fetch, fetched, produce, produced, values
from tests.support.kafka_client import BrokerClient, listening
from tests.support.offload_job import (
    compact,
    end_of,
    fill,
    offload,
    seen,
    texts,
    written,
)
from tests.support.rest import client_of

T0 = 1_700_000_000_000


@pytest.fixture
def kept(tmp_path):
    return {"offload_home": str(tmp_path / "offload"), "retention_ms": -1}


@pytest.fixture
async def broker(redis_url, prefix, kept):
    async with one(redis_url, prefix, **kept) as broker:
        await broker.topics.create("t")
        yield broker


def headers_of(data) -> list[BatchHeader]:
    return [header for header, _ in split(data.records)]


# -- all APIs ----------------------------------------------------------------------------------------------------------


async def test_all_readers_continue_from_parquet_to_redis_without_a_gap(broker, redis_url, prefix, kept):
    await fill(broker)
    before = await seen(broker, "t", 0, 0)
    offloaded = await offload(broker, "t", 0, group_bytes=500, rows_max=5)
    await fill(broker, first=40, count=10)
    assert 0 < offloaded < await end_of(broker)
    everything = await seen(broker, "t", 0, 0)
    assert everything[: len(before)] == before
    assert len(everything) > len(before)
    async with one(redis_url, prefix, **kept) as other:  # with empty caches
        assert await seen(other, "t", 0, 0) == everything
        loose = await seen(other, "t", 0, 0, isolation="read_uncommitted")
        assert [record for record in loose if record[0] < offloaded] == before
        # REST as JSON, a record at a time: an empty response is the end.
        async with client_of(other) as api:
            found, at = [], 0
            while True:
                path = f"/v1/topics/t/partitions/0/records?offset={at}&max_records=3"
                answer = (await api.get(path)).json()
                if not answer["records"]:
                    break
                assert len(answer["records"]) <= 3
                found += [record["offset"] for record in answer["records"]]
                at = answer["next_offset"]
        assert found == [record[0] for record in everything]
        # The SDK, which decodes record batches.
        async with AsyncClient("http://broker", http=httpx.ASGITransport(app=create_app(other))) as client:
            for begin in (0, offloaded - 5, offloaded):
                read = [(m.offset, m.key, m.value) async for m in client.read("t", 0, begin, max_bytes=900)]
                assert read == [(s[0], s[2], s[3]) for s in everything if s[0] >= begin]


async def test_a_kafka_consumer_continues_from_parquet_to_redis(broker, redis_url, prefix, kept):
    await fill(broker)
    await offload(broker, "t", 0, group_bytes=700, rows_max=7)
    await fill(broker, first=40, count=10)
    expected = texts(await seen(broker, "t", 0, 0))
    async with one(redis_url, prefix, **kept) as other, listening(other) as address:
        async with BrokerClient(other, address) as client:
            for committed, bytes_max in ((True, 1), (True, 1 << 20), (False, 1 << 20)):
                found, at = [], 0
                while at < await end_of(broker):
                    data = fetched(await client.ask(fetch("t", at, committed=committed, bytes_max=bytes_max), 11))
                    found += values(data, committed=True)
                    at = headers_of(data)[-1].last_offset + 1
                assert found == expected if committed else set(found) >= set(expected)


async def test_a_fetch_session_continues_from_parquet_to_redis(broker, redis_url, prefix, kept):
    await broker.records.produce("t", records("a", "b"))
    await offload(broker, "t", 0)
    await broker.records.produce("t", records("c"))
    async with one(redis_url, prefix, **kept) as other, listening(other) as address:
        async with BrokerClient(other, address) as client:
            first = await client.ask(fetch("t", 0, session=(0, 0)), 12)
            assert values(fetched(first)) == ["a", "b"]
            second = await client.ask(fetch("t", 2, session=(first.session_id, 1)), 12)
            assert values(fetched(second)) == ["c"]
            third = await client.ask(fetch("t", 0, session=(first.session_id, 2)), 12)
            assert values(fetched(third)) == ["a", "b"]


async def test_offloaded_records_that_end_in_aborts_end_with_a_marker(broker, redis_url, prefix, kept):
    await broker.records.produce("t", records("a"))
    txn = (await broker.transactions.begin(None)).id
    await broker.records.produce("t", records("never", "never"), transaction=txn)
    await broker.transactions.abort(txn)
    assert await offload(broker, "t", 0) == 4
    async with one(redis_url, prefix, **kept) as other, listening(other) as address:
        async with BrokerClient(other, address) as client:
            data = fetched(await client.ask(fetch("t", 1), 11))
            (header,) = headers_of(data)
            assert (header.is_control, header.base_offset) == (True, 3)
            assert values(data) == []
            assert data.high_watermark == 4
        assert await values_of(other, "t", offset=1) == []
        found = await other.partition_fetch.fetch("t", 0, 1, isolation="read_committed", max_bytes=1 << 20, wait_ms=0)
        assert found.next_offset == 4


async def test_a_batch_with_the_brokers_timestamps_keeps_them(broker):
    data = bytearray(encode([(None, b"x", (), T0), (None, b"y", (), T0 + 5)]))
    header = read_header(data)
    from crc32c import crc32c

    data[22] |= LOG_APPEND_TIME
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    assert header.count == 2
    await broker.records.produce_batches("t", 0, bytes(data))
    await broker.records.produce_batches("t", 0, encode([(None, b"z", (), T0)]))
    before = await seen(broker, "t", 0, 0)
    assert [record[1] for record in before] == [T0 + 5, T0 + 5, T0]
    await offload(broker, "t", 0)
    broker.catalog.forget("t")
    assert await seen(broker, "t", 0, 0) == before
    partition = await broker.catalog.partition("t", 0)
    read = await partition.reader.read(0, committed=True, bytes_max=1 << 20)
    kinds = [read_header(payload).attributes & (LOG_APPEND_TIME | TRANSACTIONAL) for payload in read.payloads]
    assert kinds == [LOG_APPEND_TIME, 0]


async def test_idempotent_producers_survive_the_offload_of_their_batches(broker):
    async with listening(broker) as address, BrokerClient(broker, address) as client:
        sent = batch("a", "b", producer=(7, 0, 0))
        assert produced(await client.ask(produce("t", sent), 9)).base_offset == 0
        await offload(broker, "t", 0)
        again = produced(await client.ask(produce("t", sent), 9))
        assert (again.error_code, again.base_offset) == (0, 0)
        following = produced(await client.ask(produce("t", batch("c", producer=(7, 0, 2))), 9))
        assert (following.error_code, following.base_offset) == (0, 2)
    assert await values_of(broker, "t") == ["a", "b", "c"]


async def test_offsets_are_found_by_time_in_the_offloaded_range(broker, redis_url, prefix, kept):
    await fill(broker, count=20)
    everything = await seen(broker, "t", 0, 0)
    await offload(broker, "t", 0, group_bytes=400, rows_max=3)
    async with one(redis_url, prefix, **kept) as other, listening(other) as address:
        async with BrokerClient(other, address) as client:
            for timestamp in range(T0 - 1, T0 + 21):
                first = next(((0, s[0], s[1]) for s in everything if s[1] >= timestamp), (0, -1, -1))
                topics = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, timestamp)])]
                answer = (await client.ask(ListOffsetsRequest(-1, 1, topics), 7)).topics[0].partitions[0]
                assert (answer.error_code, answer.offset, answer.timestamp) == first
        partition = await other.catalog.partition("t", 0)
        assert await partition.offsets.offset_at(0) == 0
        assert await other.partition_fetch.offset_at("t", 0, T0 + 7) == next(
            (s[0], s[1]) for s in everything if s[1] >= T0 + 7
        )


async def test_kafka_clients_get_the_end_of_the_offloaded_log(broker):
    await broker.records.produce("t", records("a", "b"))

    async def places(client):
        found = []
        for timestamp in (-2, -4, -5):
            topics = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, timestamp)])]
            found.append((await client.ask(ListOffsetsRequest(-1, 1, topics), 9)).topics[0].partitions[0].offset)
        return found

    async with listening(broker) as address, BrokerClient(broker, address) as client:
        assert await places(client) == [0, 0, -1]
        await offload(broker, "t", 0)
        await broker.records.produce("t", records("c"))
        assert await places(client) == [0, 2, 1]


# -- subscriptions -----------------------------------------------------------------------------------------------------


async def received(broker, name="s", **more):
    return await broker.subscriptions.receive("t", name, **more)


async def test_a_subscription_receives_acknowledges_and_seeks_offloaded_records(broker, redis_url, prefix, kept):
    await fill(broker, count=20)
    everything = await seen(broker, "t", 0, 0)
    await broker.subscriptions.create("t", "s")
    early = await received(broker, max_records=5)
    await offload(broker, "t", 0, group_bytes=400, rows_max=3)
    async with one(redis_url, prefix, **kept) as other:
        # Leased messages are redelivered, now from Parquet.
        await other.subscriptions.nack("t", "s", "default", None)
        got = []
        while messages := await received(other, max_records=6):
            got += [(m.id.offset, m.timestamp_ms, m.key, m.value, m.headers) for m in messages]
            await other.subscriptions.ack("t", "s", "default", [m.id for m in messages])
        assert sorted(got) == everything
        assert len(early) == 5
        # And a seek returns into it.
        await other.subscriptions.seek("t", "s", offsets={0: everything[7][0]})
        again = await received(other, max_records=100)
        assert [m.value for m in again] == [record[3] for record in everything[7:]]
        await other.subscriptions.seek("t", "s", timestamp_ms=0)
        assert [m.value for m in await received(other, max_records=100)] == [record[3] for record in everything]


async def test_a_transaction_acknowledges_offloaded_messages(broker):
    await broker.records.produce("t", records("a", "b", "c"))
    await offload(broker, "t", 0)
    broker.catalog.forget("t")
    await broker.subscriptions.create("t", "s")
    messages = await received(broker)
    txn = (await broker.transactions.begin(None)).id
    await broker.subscriptions.ack("t", "s", "default", [m.id for m in messages[:2]], transaction=txn)
    await broker.transactions.commit(txn)
    await broker.subscriptions.nack("t", "s", "default", None)
    assert [m.id for m in await received(broker)] == [MessageId(0, 2)]


@pytest.mark.timeout(60)  # a loop at the offloaded offset must not hang the test
async def test_a_batch_across_the_offloaded_offset_is_delivered_as_a_whole(broker):
    await broker.records.produce("t", records("0", "1", "2", "3"))
    partition = await broker.catalog.partition("t", 0)
    stretch = Stretch(0, 3, manifest.segment_file_name(manifest.folder("t", partition.topic_id, 0), 0, 3, "p"))
    calls = OffloadScripts(broker.store, partition.keys, "t", partition.topic_id)
    assert await calls.plan(Plan("p", [stretch]), 0) is not None
    await broker.offload.publish("t", 0, "p", [await written(broker, "t", 0, stretch)])
    broker.catalog.forget("t")
    await broker.subscriptions.create("t", "s")
    assert await values_of(broker, "t") == ["0", "1", "2", "3"]
    assert [m.value for m in await received(broker)] == [b"0", b"1", b"2", b"3"]


async def test_compacted_records_are_skipped_without_blocking(broker):
    await broker.records.produce("t", records("0", "1", "2", "3"))
    await broker.records.produce("t", records("4", "5"))
    await offload(broker, "t", 0)
    await compact(broker, "t", 0, lambda row: row.offset in {1, 3})
    broker.catalog.forget("t")
    await broker.subscriptions.create("t", "s")
    messages = await received(broker, ack_timeout_ms=1_000)
    assert [m.value for m in messages] == [b"1", b"3"]
    assert await broker.subscriptions.ack("t", "s", "default", [m.id for m in messages]) == 2
    (cursor,) = (await broker.subscriptions.stats("t", "s")).cursors
    assert (cursor.mark_delete, cursor.backlog, cursor.leased) == (6, 0, 0)
    assert await received(broker) == []
    assert await values_of(broker, "t") == ["1", "3"]
