"""Produce, Fetch, ListOffsets and Metadata over a real socket: order, long polls, sessions, limits, and bad input."""

from __future__ import annotations

import asyncio
import time

import pytest
from crc32c import crc32c

from redis_ledger.broker.produce.record_checks import RecordChecks
from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import InvalidTopicName, TooLargeToDecode
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode
from tests.support import several_partitions
from tests.support.broker import one, receive_values, two, values_of
from tests.support.busy_machine import wait_for
from tests.support.kafka_batches import NOW_MS, batch, fetch, fetched, produce, produced, values
from tests.support.kafka_client import BrokerClient, KafkaClient, listening
from tests.support.kafka_transactional import NEW, Transactional

TRANSACTION_FORBIDDEN, UNKNOWN_TOPIC_ID = 53, 100
UNKNOWN_TOPIC, CORRUPT, OUT_OF_RANGE, GAP, TOO_LARGE, INVALID_RECORD = 3, 2, 1, 45, 10, 87
NOT_FOUND, INVALID_EPOCH = 70, 71


@pytest.fixture
async def client(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, BrokerClient(broker, address) as client:
        await broker.topics.create("t", partitions=3)
        yield client


def damaged_record() -> bytes:
    """Its checksum is right, and its record is longer than the batch."""
    whole = bytearray(batch("broken"))
    whole[61] = 0xFF
    whole[17:21] = crc32c(whole[21:]).to_bytes(4, "big")
    return bytes(whole)


async def offsets(client, wanted: int, *, committed: bool = False, version: int = 7):
    topics = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, wanted)])]
    answer = await client.ask(ListOffsetsRequest(-1, int(committed), topics), version)
    (found,) = answer.topics[0].partitions
    return found.error_code, found.offset, found.timestamp


# -- produce and fetch -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3, 13))
async def test_batches_of_any_produce_version_are_fetched_unchanged(client, version):
    sent = batch("a", "b")
    assert produced(await client.ask(produce("t", sent), version)).base_offset == 0
    got = fetched(await client.ask(fetch("t"), min(version + 1, 12))).records
    assert isinstance(got, memoryview)
    # Everything behind base offset and leader epoch is as the producer sent it
    assert bytes(got)[16:] == sent[16:]


async def test_topics_are_named_by_id_from_version_13_on(client):
    entry = await client.broker.catalog.get("t")
    asked = produce("", batch("a"))
    asked.topic_data[0].topic_id = bytes.fromhex(entry.id)
    assert produced(await client.ask(asked, 13)).error_code == 0
    wanted = fetch("")
    wanted.topics[0].topic_id = bytes.fromhex(entry.id)
    assert values(fetched(await client.ask(wanted, 13))) == ["a"]
    wanted.topics[0].topic_id = bytes(15) + b"\x07"
    assert fetched(await client.ask(wanted, 13)).error_code == 100


async def test_ids_that_no_topic_has_cost_a_produce_one_look_however_many_they_are(client, monkeypatch):
    catalog, looks = client.broker.catalog, 0
    read_version = catalog._rows.version

    async def counted():
        nonlocal looks
        looks += 1
        return await read_version()

    monkeypatch.setattr(catalog._rows, "version", counted)
    known = bytes.fromhex((await catalog.get("t")).id)
    ids = [known, *(number.to_bytes(16, "big") for number in range(1, 200))]
    topics = [TopicProduceData("", id, [PartitionProduceData(0, batch("a"))]) for id in ids]
    answer = await client.ask(ProduceRequest(None, -1, 5_000, topics), 13)
    codes = [each.partition_responses[0].error_code for each in answer.responses]
    assert codes == [0, *[UNKNOWN_TOPIC_ID] * 199]
    assert looks <= 2  # one for those that are none, and one by which the other may have been found


async def test_requests_sent_without_waiting_are_written_and_answered_in_order(client):
    sent = [client.ask(produce("t", batch(f"{n}", producer=(7, 0, n))), 9) for n in range(50)]
    assert [produced(answer).base_offset for answer in await asyncio.gather(*sent)] == list(range(50))


async def test_a_rest_reader_sees_what_a_kafka_producer_wrote(client):
    await client.ask(produce("t", batch("a", "b")), 9)
    assert await values_of(client.broker, "t") == ["a", "b"]


async def test_an_idempotent_batch_that_is_sent_again_gets_its_first_offset(client):
    again = produce("t", batch("a", producer=(7, 0, 0)))
    assert [produced(await client.ask(again, 9)).base_offset for _ in range(2)] == [0, 0]
    assert produced(await client.ask(produce("t", batch("c", producer=(7, 0, 5))), 9)).error_code == GAP
    assert await values_of(client.broker, "t") == ["a"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", INVALID_RECORD),
        (None, INVALID_RECORD),
        (b"\0" * 40, CORRUPT),
        (batch("a")[:-1], CORRUPT),
        (batch("a") + b"\0", CORRUPT),
        (batch("a")[:-1] + b"!", CORRUPT),
        (batch("a") * 2, CORRUPT),
        pytest.param(damaged_record(), INVALID_RECORD, id="record"),
        pytest.param(batch("a", producer=(7 << 48, 0, -5)), INVALID_RECORD, id="negative sequence"),
        pytest.param(batch("a", producer=(7 << 48, 0, -1)), INVALID_RECORD, id="no sequence"),
        pytest.param(
            batch("a", producer=(7 << 48, 0, 0), transactional=True), TRANSACTION_FORBIDDEN, id="no transactional id"
        ),
        pytest.param(batch("a", transactional=True), TRANSACTION_FORBIDDEN, id="no producer id"),
        (batch("x" * 9_000_000), TOO_LARGE),
    ],
)
async def test_a_damaged_batch_is_refused_and_nothing_is_written(client, data, code):
    assert produced(await client.ask(produce("t", data), 9)).error_code == code
    assert await offsets(client, -1) == (0, 0, -1)
    assert produced(await client.ask(produce("t", batch("good")), 9)).base_offset == 0


async def test_an_unknown_topic_or_partition_is_reported_and_not_created(client):
    assert produced(await client.ask(produce("nowhere", batch("a")), 9)).error_code == UNKNOWN_TOPIC
    assert produced(await client.ask(produce("t", batch("a"), partition=9), 9)).error_code == UNKNOWN_TOPIC
    assert fetched(await client.ask(fetch("nowhere"), 12)).error_code == UNKNOWN_TOPIC
    assert [topic.name for topic in await client.broker.topics.list()] == ["t"]


async def test_nothing_is_answered_to_acks_0(client):
    await wait_for(_send(client, produce("t", batch("a"), acks=0)), 5)
    # The next answer on the connection is the next request's
    assert values(fetched(await client.ask(fetch("t", wait_ms=3000), 12))) == ["a"]


async def _send(client, message) -> None:
    from tests.support.kafka_codec import request

    for piece in request(0, 9, 0, "test", message):
        client._writer.write(piece)
    await client._writer.drain()


async def test_an_offset_outside_the_log_says_where_the_log_is(client):
    await client.ask(produce("t", batch("a", "b")), 9)
    data = fetched(await client.ask(fetch("t", 99), 12))
    assert (data.error_code, data.log_start_offset, data.high_watermark) == (OUT_OF_RANGE, 0, 2)


# -- waiting -----------------------------------------------------------------------------------------------------------


async def test_a_reader_that_waits_is_woken_by_a_record(client):
    async with KafkaClient(client.address) as reader:
        began = time.monotonic()
        waiting = asyncio.create_task(reader.ask(fetch("t", partitions=(0, 1, 2), wait_ms=15_000), 12))
        await asyncio.sleep(0.2)  # it has to be asleep by then
        await client.ask(produce("t", batch("news"), partition=1), 9)
        answer = await waiting
        assert time.monotonic() - began < 12
        assert [values(data) for data in answer.responses[0].partitions] == [[], ["news"], []]


async def test_a_reader_waits_for_as_many_bytes_as_it_asked_for(client):
    async with KafkaClient(client.address) as reader:
        size = len(batch("a"))
        waiting = asyncio.create_task(reader.ask(fetch("t", wait_ms=15_000, bytes_min=2 * size), 12))
        await client.ask(produce("t", batch("a")), 9)
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await client.ask(produce("t", batch("b")), 9)
        assert values(fetched(await waiting)) == ["a", "b"]


async def test_a_reader_that_waits_in_vain_is_answered_when_its_time_is_over(client):
    began = time.monotonic()
    assert values(fetched(await client.ask(fetch("t", wait_ms=300), 12))) == []
    assert 0.25 < time.monotonic() - began < 15


async def test_a_record_written_by_another_broker_wakes_a_reader_here(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t")
        async with (
            listening(first) as here,
            listening(second) as there,
            KafkaClient(here) as a,
            KafkaClient(there) as b,
        ):
            waiting = asyncio.create_task(a.ask(fetch("t", wait_ms=15_000), 12))
            await asyncio.sleep(0.2)
            await b.ask(produce("t", batch("far")), 9)
            assert values(fetched(await waiting)) == ["far"]
            # And what one broker has in memory does not hide what the other writes behind it
            await a.ask(produce("t", batch("near")), 9)
            await b.ask(produce("t", batch("last")), 9)
            assert values(fetched(await a.ask(fetch("t"), 12))) == ["far", "near", "last"]


async def test_together_the_partitions_of_an_answer_keep_to_the_limit(client):
    for number in (0, 1, 2, 0, 1, 2):
        await client.ask(produce("t", batch("x" * 50_000), partition=number), 9)
    answer = await client.ask(fetch("t", partitions=(0, 1, 2), bytes_max=60_000), 12)
    assert 50_000 < sum(len(data.records) for data in answer.responses[0].partitions) < 110_000
    # The first batch comes whatever the limit is
    answer = await client.ask(fetch("t", partitions=(0, 1), bytes_max=0), 12)
    assert [len(values(data)) for data in answer.responses[0].partitions] == [1, 0]


# -- sessions ----------------------------------------------------------------------------------------------------------


async def test_a_session_names_its_partitions_once_and_gets_only_changes(client):
    first = await client.ask(fetch("t", partitions=(0, 1, 2), session=(0, 0)), 12)
    assert first.session_id > 0
    assert len(first.responses[0].partitions) == 3
    nothing = fetch("t", partitions=(), session=(first.session_id, 1))
    nothing.topics = []
    assert (await client.ask(nothing, 12)).responses == []
    await client.ask(produce("t", batch("a"), partition=2), 9)
    nothing.session_epoch = 2
    (data,) = (await client.ask(nothing, 12)).responses[0].partitions
    assert (data.partition_index, values(data)) == (2, ["a"])


async def test_a_session_of_another_connection_or_epoch_is_refused(client):
    first = await client.ask(fetch("t", session=(0, 0)), 12)
    assert (await client.ask(fetch("t", session=(first.session_id, 5)), 12)).error_code == INVALID_EPOCH
    async with KafkaClient(client.address) as other:
        assert (await other.ask(fetch("t", session=(first.session_id, 1)), 12)).error_code == NOT_FOUND


async def test_a_forgotten_partition_is_not_read_any_more(client):
    from redis_ledger.kafka.protocol.messages.fetch_request import ForgottenTopic

    first = await client.ask(fetch("t", partitions=(0, 1), session=(0, 0)), 12)
    await client.ask(produce("t", batch("a"), partition=1), 9)
    less = fetch("t", session=(first.session_id, 1))
    less.topics, less.forgotten_topics_data = [], [ForgottenTopic("t", partitions=[1])]
    assert (await client.ask(less, 12)).responses == []


# -- offsets and metadata ----------------------------------------------------------------------------------------------


async def test_offsets_are_found_by_name_and_by_time(client):
    await client.ask(produce("t", batch("a", "b", "c")), 9)
    await client.ask(produce("t", batch("late", at_ms=NOW_MS + 1_000)), 9)
    await client.ask(produce("t", batch("early", at_ms=NOW_MS - 9_000)), 9)
    assert await offsets(client, -2) == (0, 0, -1)
    assert await offsets(client, -1) == (0, 5, -1)
    assert await offsets(client, -3) == (0, 3, NOW_MS + 1_000)
    assert await offsets(client, NOW_MS + 1) == (0, 1, NOW_MS + 1)
    assert await offsets(client, NOW_MS + 500) == (0, 3, NOW_MS + 1_000)
    assert await offsets(client, NOW_MS + 1_001) == (0, -1, -1)
    assert await offsets(client, 0) == (0, 0, NOW_MS)


@pytest.mark.parametrize("version", [2, 7, 10])
async def test_the_end_of_the_log_is_the_last_stable_offset_for_committed_readers(client, version):
    await client.ask(produce("t", batch("a")), 9)
    producer = await Transactional(client, "pay", NEW).init()
    assert await producer.send("t", "b", "c") == 0
    assert (await offsets(client, -1, committed=True, version=version))[:2] == (0, 1)
    assert (await offsets(client, -1, committed=False, version=version))[:2] == (0, 3)
    assert (await offsets(client, NOW_MS + 1, committed=True, version=version))[:2] == (0, -1)
    assert (await offsets(client, NOW_MS + 1, committed=False, version=version))[:2] == (0, 2)
    assert await producer.end() == 0
    assert (await offsets(client, -1, committed=True, version=version))[:2] == (0, 4)


async def test_the_time_of_a_trimmed_record_finds_no_record_that_is_older(client):
    await client.ask(produce("t", batch("newest", at_ms=NOW_MS + 5_000)), 9)
    await client.ask(produce("t", batch("old")), 9)
    partition = await client.broker.catalog.partition("t", 0)
    await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=1)
    assert await offsets(client, NOW_MS + 1) == (0, -1, -1)


async def test_metadata_names_the_broker_and_makes_a_topic_when_asked_to(client):
    answer = await client.ask(MetadataRequest([MetadataRequestTopic(name="made")], True), 12)
    (topic,) = answer.topics
    (node,) = answer.brokers
    assert (topic.error_code, topic.name, len(topic.partitions)) == (0, "made", 1)
    assert (node.host, node.port) == client.address
    assert topic.partitions[0].leader_id == node.node_id == answer.controller_id
    refused = await client.ask(MetadataRequest([MetadataRequestTopic(name="not made")], True), 12)
    assert refused.topics[0].error_code == 17
    absent = await client.ask(MetadataRequest([MetadataRequestTopic(name="absent")], False), 12)
    assert absent.topics[0].error_code == UNKNOWN_TOPIC
    everything = await client.ask(MetadataRequest(None), 12)
    assert sorted(topic.name for topic in everything.topics) == ["made", "t"]


async def test_brokers_agree_on_partition_leaders(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("wide", partitions=10)
        async with (
            listening(first) as here,
            listening(second) as there,
            KafkaClient(here) as a,
            KafkaClient(there) as b,
        ):
            await first.live_brokers.send_heartbeat()
            answers = [await each.ask(MetadataRequest([MetadataRequestTopic(name="wide")]), 12) for each in (a, b)]
            leaders = [[p.leader_id for p in answer.topics[0].partitions] for answer in answers]
            assert leaders[0] == leaders[1]
            assert {leaders[0].count(node.node_id) for node in answers[0].brokers} == {5}


async def test_the_internal_topic_of_offsets_appears_with_the_first_group_and_takes_no_records(client):
    await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]), 4)
    answer = await client.ask(MetadataRequest([MetadataRequestTopic(name="__consumer_offsets")], False), 12)
    assert [(topic.error_code, topic.is_internal) for topic in answer.topics] == [(0, True)]
    assert produced(await client.ask(produce("__consumer_offsets", batch("a")), 9)).error_code == 17
    with pytest.raises(InvalidTopicName):
        await client.broker.records.produce("__consumer_offsets", [NewRecord(None, b"a")])


async def test_a_batch_whose_records_cannot_be_read_is_passed_over_by_subscriptions(client, monkeypatch):
    monkeypatch.setattr(RecordChecks, "check", lambda *_: None)  # not every batch is checked
    for data in (batch("before"), damaged_record(), batch("after")):
        assert produced(await client.ask(produce("t", data), 9)).error_code == 0
    await client.broker.subscriptions.create("t", "s")
    assert list((await receive_values(client.broker, "t", "s")).values()) == ["before", "after"]
    assert (await client.broker.subscriptions.stats("t", "s")).cursors[0].acked_ahead == 1


async def test_topic_recreated_by_another_broker_is_written_after_one_refusal(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second), listening(first) as address, KafkaClient(address) as client:
        await first.topics.create("t")
        assert produced(await client.ask(produce("t", batch("old")), 9)).error_code == 0
        await second.topics.delete("t")
        await second.topics.create("t")
        codes = [produced(await client.ask(produce("t", batch("new")), 9)).error_code for _ in range(2)]
        assert codes in ([UNKNOWN_TOPIC, 0], [0, 0])  # the second when this broker had noticed by itself
        assert "old" not in await values_of(second, "t")


@pytest.mark.parametrize(
    ("asked", "version", "refused"),
    [
        (several_partitions.list_offsets, 7, UNKNOWN_TOPIC),
        (several_partitions.fetch, 12, UNKNOWN_TOPIC),
        (several_partitions.end_of_epoch, 4, 0),
        (several_partitions.delete_records, 2, 0),
    ],
)
async def test_topic_recreated_by_another_broker_is_found_at_once_or_after_one_refusal(
    redis_url, prefix, asked, version, refused
):
    place = ("t", 0)
    async with two(redis_url, prefix) as (first, second), listening(first) as address, KafkaClient(address) as client:
        await first.topics.create("t")
        assert several_partitions.codes(await client.ask(asked([place]), version)) == {place: 0}
        await second.topics.delete("t")
        await second.topics.create("t")
        codes = [several_partitions.codes(await client.ask(asked([place]), version))[place] for _ in range(2)]
        assert codes in ([refused, 0], [0, 0])  # the second when this broker had noticed by itself


async def test_one_answer_has_no_more_than_the_broker_allows_whatever_is_asked(redis_url, prefix):
    async with one(redis_url, prefix, kafka_fetch_bytes_max=100_000) as broker, listening(broker) as address:
        await broker.topics.create("t")
        async with KafkaClient(address) as client:
            for _ in range(5):
                await client.ask(produce("t", batch("x" * 60_000)), 9)
            data = fetched(await client.ask(fetch("t", bytes_max=0x7FFFFFFF), 12))
            assert values(data) == ["x" * 60_000]


async def test_a_small_batch_that_unpacks_into_very_much_is_a_problem_and_not_an_answer(client):
    rows = [(None, b"\0" * (40 << 20), (), NOW_MS)]
    assert produced(await client.ask(produce("t", encode(rows, compression=4)), 9)).error_code == 0
    fetch_all = client.broker.records.fetch("t", 0, 0)
    (found,) = (await fetch_all).batches
    with pytest.raises(TooLargeToDecode, match="batch_decoded_bytes_max"):
        decode(found.data)
