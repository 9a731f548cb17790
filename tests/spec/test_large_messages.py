"""Large messages: written in chunks, seen whole or not at all, through REST and the SDK."""

from __future__ import annotations

import asyncio
import hashlib
import io
import random
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.broker.produce.large_messages import LargeMessage
from redis_ledger.broker.types import NewRecord
from redis_ledger.client import TxnState
from redis_ledger.records.large_messages import CHUNK_BYTES, chunk_of, descriptor_of
from tests.support.broker import eventually, heads, one, records, two, vanish, visible
from tests.support.threaded_broker import threaded_broker

VALUE = random.Random(18).randbytes(20_000_000)
SMALL = VALUE[: 2 * CHUNK_BYTES + 17]  # three chunks


@pytest.fixture
def brokers(redis_url, prefix):
    with threaded_broker(redis_url, prefix, brokers=2, kafka=True) as brokers:
        yield brokers


@pytest.fixture
async def client(brokers):
    async with AsyncClient(brokers.urls[0]) as client:
        yield client


@pytest.fixture
async def other(brokers):
    """A client of the other broker."""
    async with AsyncClient(brokers.urls[1]) as client:
        yield client


async def read(client, message):
    async with client.open_large(message) as value:
        return await value.read()


async def values_read(client, topic="t"):
    return [message.value async for message in client.read(topic)]


async def test_a_message_of_20_mb_in_a_transaction_is_visible_whole_or_not_at_all(client, other):
    """CL-18: nothing before the commit, on either broker; all of it after; nothing of an aborted one."""
    async with client.producer("t") as producer, other.consumer("t", "s") as consumer:
        aborted = client.transaction()
        await producer.send_large(VALUE, txn=aborted)
        assert await values_read(other) == []
        await aborted.abort()
        async with client.transaction() as txn:
            await (await txn.send("t", b"before")).result()
            position = await producer.send_large(VALUE, key="k", headers={"type": "film"}, txn=txn)
            await txn.send("t", b"after")
            assert await consumer.receive(10, wait_ms=200) == []
            assert await values_read(other) == []
        found = await consumer.receive(10, wait_ms=5_000)
        assert [message.value for message in found] == [b"before", b"", b"after"]
        large = found[1]
        assert ((large.partition, large.offset), large.key, large.headers["type"]) == (position, b"k", b"film")
        assert [message.large_size for message in found] == [None, len(VALUE), None]
        assert await read(other, large) == VALUE
        await consumer.ack(found)
        stats = await other.subscriptions.stats("t", "s")
        assert (stats.backlog, stats.leased) == (0, 0)
        assert stats.cursors[0].mark_delete == stats.cursors[0].end


async def test_nothing_is_seen_of_a_message_whose_broker_dies_while_it_arrives(redis_url, prefix):
    """CL-18: another broker aborts it at its timeout; what was written behind it is then seen."""
    arrived = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield VALUE[: 5 * CHUNK_BYTES]
        arrived.set()
        await asyncio.Event().wait()

    async with two(redis_url, prefix, default_timeout_ms=1_000) as (dying, other):
        await dying.topics.create("t")
        await dying.subscriptions.create("t", "s")
        message = LargeMessage(6 * CHUNK_BYTES)
        writing = asyncio.ensure_future(dying.large_messages.write("t", message, pieces()))
        await asyncio.wait_for(arrived.wait(), 20)
        await vanish(dying)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await other.records.produce("t", records("after"))
        assert (await heads(other))[2] > 1

        async def seen() -> list[str]:
            return (await visible(other, "t")).get(0, [])

        assert await eventually(seen, ["after"], 20) == ["after"]
        assert [each.value for each in await other.subscriptions.receive("t", "s")] == [b"after"]


@pytest.mark.parametrize("is_begun", [True, False], ids=["begun", "waiting"])
async def test_acknowledging_a_large_message_in_a_transaction_covers_all_its_chunks(client, other, is_begun):
    """AK-29: undone by an abort, which delivers the whole message again, and done by a commit."""
    async with client.producer("t") as producer, other.consumer("t", "s", prefetch=0) as consumer:
        await producer.send_large(SMALL)
        for outcome in ("abort", "commit"):
            (message,) = await consumer.receive(10, wait_ms=5_000)
            assert message.redelivery_count == (outcome == "commit")
            assert await read(client, message) == SMALL
            txn = other.transaction()
            if is_begun:
                await txn.begin()
            await txn.ack(consumer, message)
            assert (await other.subscriptions.stats("t", "s")).pending == is_begun
            await (txn.abort() if outcome == "abort" else txn.commit())
        assert await consumer.receive(10, wait_ms=200) == []
        (cursor,) = (await other.subscriptions.stats("t", "s")).cursors
        assert (cursor.mark_delete, cursor.backlog, cursor.acked_ahead) == (cursor.end, 0, 0)


async def test_a_nack_delivers_the_whole_message_again_and_in_the_end_to_the_dead_letters(client):
    async with client.producer("t") as producer, client.consumer("t", "s", prefetch=0) as consumer:
        await producer.send_large(SMALL, headers={"a": "b"})
        await consumer.receive(10, wait_ms=5_000)
        await client.subscriptions.set_dead_letters("t", "s", max_deliveries=2, dead_letter_topic="dead")
        await consumer.nack("0:0")
        (message,) = await consumer.receive(10, wait_ms=5_000)
        assert (message.offset, message.redelivery_count, await read(client, message)) == (0, 1, SMALL)
        await consumer.nack(message)
        assert await consumer.receive(10, wait_ms=200) == []
        letters = [each async for each in client.read("dead")]
        assert [(each.large_size, each.headers["a"]) for each in letters] == [(len(SMALL), b"b")]
        assert await read(client, letters[0]) == SMALL


async def test_messages_written_at_once_through_two_brokers_are_read_one_by_one(client, other):
    """In one partition, in transactions of their own and two in the same one, with other records between them."""
    values = [VALUE[n : n + 3 * CHUNK_BYTES + n] for n in range(6)]
    async with client.transaction() as txn, client.producer("t") as one, other.producer("t") as two:
        await txn.begin()
        sends = [one.send_large(values[0]), two.send_large(values[1]), one.send_large(values[2])]
        sends += [one.send_large(value, txn=txn) for value in values[3:5]]
        sends.append(two.send_large(values[5]))
        positions = await asyncio.gather(*sends)
        await one.send(b"plain")
    async with other.consumer("t", "s") as consumer:
        found: dict[tuple[int, int], Any] = {}
        while len(found) < 7:
            for message in await consumer.receive(100, wait_ms=5_000):
                found[message.partition, message.offset] = message
        assert sum(message.large_size is None for message in found.values()) == 1
        assert [await read(client, found[position]) for position in positions] == values


async def test_a_kafka_client_sees_the_descriptor_and_the_chunks(brokers, client):
    async with client.producer("t") as producer:
        await producer.send_large(SMALL, key="k")
    kafka = AIOKafkaConsumer(
        bootstrap_servers="{}:{}".format(*brokers.kafka), isolation_level="read_committed",
        max_partition_fetch_bytes=16 << 20,
    )  # fmt: skip
    await kafka.start()
    try:
        kafka.assign([TopicPartition("t", 0)])
        await kafka.seek_to_beginning()
        records = [await asyncio.wait_for(kafka.getone(), 20) for _ in range(4)]
    finally:
        await kafka.stop()
    descriptor = descriptor_of(records[0].headers)
    assert descriptor is not None
    assert (records[0].key, records[0].value, descriptor.chunks, descriptor.size) == (b"k", b"", 3, len(SMALL))
    chunks = [chunk for record in records[1:] if (chunk := chunk_of(record.headers)) is not None]
    assert [(chunk.id, chunk.place) for chunk in chunks] == [(descriptor.id, n) for n in range(3)]
    assert b"".join(record.value for record in records[1:]) == SMALL
    assert chunks[-1].sha256 == hashlib.sha256(SMALL).hexdigest()


@pytest.mark.parametrize("kind", ["bytes", "file", "iterator", "text"])
def test_the_sdk_for_threads_sends_bytes_files_and_iterators(brokers, kind):
    text = "grüß dich" * 200_000
    file = io.BytesIO(b"head" + SMALL)
    file.seek(4)
    value, size = {
        "bytes": (SMALL, None),
        "file": (file, None),
        "iterator": (iter([SMALL[:5], b"", SMALL[5:]]), len(SMALL)),
        "text": (text, None),
    }[kind]
    with Client(brokers.urls) as client, client.producer("t") as producer:
        position = producer.send_large(value, size=size, partition=0)
        message = next(client.read("t"))
        assert (message.partition, message.offset) == position
        with client.open_large(message) as opened:
            assert b"".join(opened) == (text.encode() if kind == "text" else SMALL)


@pytest.mark.parametrize("announced", [len(SMALL) - 1, len(SMALL) + 1])
async def test_a_value_of_another_size_than_announced_is_refused_and_aborts(client, announced):
    async with client.producer("t") as producer:
        with pytest.raises(errors.InvalidRequest, match="size of the value"):
            await producer.send_large(iter([SMALL]), size=announced)
        txn = client.transaction()
        with pytest.raises(errors.InvalidRequest, match="size of the value"):
            await producer.send_large(iter([SMALL]), size=announced, txn=txn)
        with pytest.raises(errors.TransactionAbortOnly):
            await txn.commit()
        assert txn.state is TxnState.ABORTED
        await producer.send(b"plain")
    # The broker aborts the first one when it notices that the connection was closed.
    assert await eventually(lambda: values_read(client), [b"plain"], 20) == [b"plain"]


async def test_what_cannot_be_a_large_message_is_refused_before_anything_is_written(redis_url, prefix):
    with threaded_broker(redis_url, prefix, large_message_bytes_max=1_000_000) as brokers:
        async with AsyncClient(brokers.urls) as client, client.producer("t") as producer:
            await client.topics.create("t")
            await client.topics.create("narrow", settings={"batch_bytes_max": 10_000})
            for error, send in (
                (errors.RequestTooLarge, producer.send_large(bytes(1_000_001))),
                (errors.InvalidRequest, producer.send_large(b"")),
                (errors.InvalidRequest, producer.send_large(b"a", headers={"rl-large": "x"})),
                (errors.InvalidRequest, producer.send_large(b"a", headers={"rl-chunk": "x 0 1"})),
                (errors.InvalidRequest, producer.send_large(iter([b"a"]))),
                (errors.InvalidRequest, producer.send_large(5)),
                (errors.UnknownPartition, producer.send_large(b"a", partition=7)),
                (errors.InvalidRequest, client.producer("narrow").send_large(b"a")),
            ):
                with pytest.raises(error):
                    await send
            assert (await client.topics.describe("t")).partition_states[0].end_offset == 0
            await producer.send_large(bytes(1_000_000))
            (message,) = [each async for each in client.read("t")]
            with pytest.raises(errors.InvalidRequest, match="max_bytes"):
                async with client.open_large(message) as value:
                    await value.read(max_bytes=999_999)
        async with httpx.AsyncClient(base_url=brokers.urls[0]) as http:
            for path, status, code in (
                ("/v1/topics/t/partitions/0/largeMessages/1", 404, "unknown_large_message"),
                ("/v1/topics/t/partitions/0/largeMessages/x", 404, "unknown_large_message"),
                ("/v1/topics/t/partitions/0/largeMessages/77", 416, "offset_out_of_range"),
                ("/v1/topics/absent/partitions/0/largeMessages/0", 404, "unknown_topic"),
            ):
                answer = await http.get(path)
                assert (answer.status_code, answer.json()["code"]) == (status, code), path

            async def pieces() -> AsyncIterator[bytes]:
                yield b"a"

            for query, content in (("", pieces()), ("?headers=[1]", b"a"), ("?key=a&key_base64=YQ==", b"a")):
                answer = await http.post(f"/v1/topics/t/largeMessages{query}", content=content)
                assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), query


async def test_an_ordinary_record_with_the_header_of_a_descriptor_is_no_large_message(redis_url, prefix):
    """Any client can write one.  The log behind it is not searched for chunks, since it may be long."""
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        await broker.records.produce("t", [NewRecord(None, b"", [("rl-large", b"id 5 5000000")])])
        with pytest.raises(errors.UnknownLargeMessage):
            await broker.large_message_reader.find("t", 0, 0)


async def test_a_repeated_request_with_an_idempotency_key_writes_one_message(brokers):
    async with httpx.AsyncClient(base_url=brokers.urls[0]) as http:
        path, headers = "/v1/topics/t/largeMessages?key=k", {"idempotency-key": "film-7"}
        answers = [await http.post(path, content=SMALL, headers=headers) for _ in range(2)]
        assert answers[0].json() == {"partition": 0, "offset": 0, "bytes": len(SMALL), "chunks": 3}
        assert answers[1].content == answers[0].content
        assert answers[1].headers["idempotent-replayed"] == "true"
        reused = await http.post(path, content=b"another", headers=headers)
        assert reused.json()["code"] == "idempotency_key_reused"
        shown = await http.get("/v1/topics/t/partitions/0/largeMessages/0")
        assert (shown.content, shown.headers["content-length"]) == (SMALL, str(len(SMALL)))


async def test_a_missing_or_exchanged_chunk_is_noticed_and_a_trimmed_message_is_out_of_range(brokers, client):
    async with client.producer("t") as producer:
        for _ in range(2):
            await producer.send_large(SMALL, partition=0)
    first, second = [each async for each in client.read("t") if each.large_size]

    async def exchange() -> None:
        partition = await brokers.brokers[0].catalog.partition("t", 0)
        store, keys = brokers.brokers[0].store, partition.keys
        entries = await partition.reader.log_entries(0, 20)
        chunks = [entry for entry in entries if entry.is_chunk]
        await store.command("XDEL", keys.log, f"{chunks[1].last_offset}-1", key=keys.state)

    brokers.do(exchange())
    with pytest.raises(errors.Unavailable, match=r"ended .* before"):
        await read(client, first)
    assert await read(client, second) == SMALL

    async def trim() -> None:
        partition = await brokers.brokers[0].catalog.partition("t", 0)
        await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=second.offset + 2)

    brokers.do(trim())
    with pytest.raises(errors.OffsetOutOfRange):
        await read(client, second)


async def test_retention_of_acknowledged_records_keeps_the_chunks_of_an_unacknowledged_message(redis_url, prefix):
    async with one(redis_url, prefix, retention_acknowledged=True, retention_ms=0, ledger_bytes_max=1 << 20) as broker:
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")

        async def pieces() -> AsyncIterator[bytes]:
            yield SMALL

        await broker.large_messages.write("t", LargeMessage(len(SMALL)), pieces())
        (message,) = await broker.subscriptions.receive("t", "s")
        partition = await broker.catalog.partition("t", 0)
        trimmed = await partition.trim(retention_ms=0, retention_bytes=-1, acknowledged=True)
        assert trimmed.start_offset == 0
        found = await broker.large_message_reader.find("t", 0, message.id.offset)
        assert b"".join([chunk async for chunk in broker.large_message_reader.chunks(found)]) == SMALL
        await broker.subscriptions.ack("t", "s", "default", [message.id])
        assert (await broker.subscriptions.stats("t", "s")).cursors[0].mark_delete >= 4


async def test_large_messages_are_written_and_read_in_the_sidecar_buffer(redis_url, prefix):
    """CL-18, SC-08: in transactions of several messages, one behind the other; the offset is known to readers only."""
    with threaded_broker(redis_url, prefix, brokers=2, txn_buffer="sidecar") as brokers:
        async with AsyncClient(brokers.urls[0]) as client, AsyncClient(brokers.urls[1]) as other:
            async with client.producer("t") as producer, other.consumer("t", "s") as consumer:
                aborted = client.transaction()
                await producer.send_large(VALUE, txn=aborted)
                await aborted.abort()
                async with client.transaction() as txn:
                    await (await txn.send("t", b"before")).result()
                    assert (await producer.send_large(VALUE, key="k", txn=txn)).offset == -1
                    await producer.send_large(SMALL, partition=0, txn=txn)
                    assert await consumer.receive(10, wait_ms=200) == []
                await producer.send_large(SMALL, partition=0)
                found = list[Any]()
                while len(found) < 4:
                    found += await consumer.receive(10, wait_ms=5_000)
                assert [message.large_size for message in found] == [None, len(VALUE), len(SMALL), len(SMALL)]
                assert [await read(other, message) for message in found[1:]] == [VALUE, SMALL, SMALL]
                await consumer.ack(found)
                stats = await other.subscriptions.stats("t", "s")
                assert (stats.backlog, stats.leased) == (0, 0)
