"""Timestamps of records: LogAppendTime, and the ranges that a topic accepts (KIP-937)."""

from __future__ import annotations

import time

import pytest

from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import ManualClock
from redis_ledger.kafka.protocol.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.records.batch import LOG_APPEND_TIME, check, split, stamp
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode
from tests.support.broker import one
from tests.support.kafka_batches import batch, fetch, fetched, produce, produced
from tests.support.kafka_client import BrokerClient, listening
from tests.support.kafka_transactional import NEW, OLD, Transactional

NOW, MINUTE, HOUR, INVALID_TIMESTAMP, NO_LIMIT = 1_790_000_000_000, 60_000, 3_600_000, 32, str((1 << 63) - 1)
MICROSECONDS = NOW * 999


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def client(redis_url, prefix, clock):
    async with one(redis_url, prefix, clock=clock) as broker, listening(broker) as address:
        async with BrokerClient(broker, address) as client:
            yield client


async def create(client, **configs: str) -> int:
    asked = [CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()]
    answer = await client.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1, [], asked)], 5_000, False), 5)
    return int(answer.topics[0].error_code)


async def sent(client, at_ms: int) -> int:
    return produced(await client.ask(produce("t", batch("a", at_ms=at_ms)), 9)).error_code


async def read(client) -> list[tuple[int, bytes | None]]:
    """Time and value of each record."""
    found = fetched(await client.ask(fetch("t"), 12)).records
    assert isinstance(found, memoryview)
    batches = [each for each in split(found) if not each[0].is_control]
    for header, view in batches:
        check(header, view, batch_bytes_max=1 << 20)
    return [(record.timestamp_ms, record.value) for _, view in batches for record in decode(view)]


@pytest.mark.parametrize(
    ("configs", "ahead_ms", "code"),
    [
        ({}, HOUR - MINUTE, 0),
        ({}, HOUR + MINUTE, INVALID_TIMESTAMP),
        ({}, MICROSECONDS, INVALID_TIMESTAMP),
        ({}, -50 * 365 * 24 * HOUR, 0),
        ({"message_timestamp_after_max_ms": NO_LIMIT}, MICROSECONDS, 0),
        ({"message_timestamp_before_max_ms": f"{HOUR}"}, -HOUR + MINUTE, 0),
        ({"message_timestamp_before_max_ms": f"{HOUR}"}, -HOUR - MINUTE, INVALID_TIMESTAMP),
        ({"message_timestamp_type": "LogAppendTime"}, MICROSECONDS, 0),
    ],
)
async def test_timestamps_outside_the_topic_s_range_are_refused(client, configs, ahead_ms, code):
    """By the clock of Redis."""
    now_ms = time.time_ns() // 1_000_000
    assert await create(client, **configs) == 0
    assert await sent(client, now_ms + ahead_ms) == code
    assert await sent(client, now_ms) == 0


async def test_only_the_broker_sets_the_time_of_appending(client):
    assert await create(client) == 0
    data = stamp(batch("a"), NOW)
    assert produced(await client.ask(produce("t", data), 9)).error_code == INVALID_TIMESTAMP


@pytest.mark.parametrize("compression", [0, 1])
async def test_records_of_a_topic_with_log_append_time_have_the_time_of_their_arrival(client, clock, compression):
    assert await create(client, message_timestamp_type="LogAppendTime") == 0
    rows = [(None, b"a", (), 5), (None, b"b", (), 7)]
    slot = produced(await client.ask(produce("t", encode(rows, compression=compression)), 9))
    assert (slot.error_code, slot.log_append_time_ms) == (0, NOW)
    clock.advance(10)
    await client.broker.records.produce("t", [NewRecord(None, b"rest", timestamp_ms=5)])
    clock.advance(10)
    for version in (OLD, NEW):
        producer = await Transactional(client, f"tx{version}", version).init()
        assert await producer.send("t", f"{version}") == 0
        assert await producer.end() == 0
    assert await read(client) == [
        (NOW, b"a"), (NOW, b"b"), (NOW + 10, b"rest"), (NOW + 20, b"10"), (NOW + 20, b"12"),
    ]  # fmt: skip
    found = fetched(await client.ask(fetch("t"), 12)).records
    assert isinstance(found, memoryview)
    assert found[22] & LOG_APPEND_TIME
    # Offsets are found by this time
    topics = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, NOW + 5)])]
    (place,) = (await client.ask(ListOffsetsRequest(-1, 0, topics), 7)).topics[0].partitions
    assert (place.offset, place.timestamp) == (2, NOW + 10)


async def test_the_timestamp_type_of_a_topic_can_be_changed(client):
    assert await create(client) == 0
    assert produced(await client.ask(produce("t", batch("a", at_ms=5)), 9)).log_append_time_ms == -1
    await client.broker.configs.change("t", {"message_timestamp_type": 1}, validate_only=False)
    assert produced(await client.ask(produce("t", batch("b", at_ms=5)), 9)).log_append_time_ms == NOW
    assert await read(client) == [(5, b"a"), (NOW, b"b")]
