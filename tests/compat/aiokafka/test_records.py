"""aiokafka outside transactions: producing, reading, groups."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import NewTopic
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import MessageSizeTooLargeError, OffsetOutOfRangeError


async def fill(producer, topic, count, partitions=1):
    async with producer(linger_ms=2) as one:
        sent = [await one.send(topic, b"%d" % number, partition=number % partitions) for number in range(count)]
        return await asyncio.gather(*sent)


@pytest.mark.parametrize("acks", [0, 1, "all"])
async def test_records_arrive_with_every_kind_of_acknowledgement(acks, topic, producer, consumer):
    called = await topic()
    async with producer(acks=acks) as one:
        for number in range(20):
            sent = await one.send_and_wait(called, b"%d" % number)
            assert acks == 0 or sent.offset == number
    async with consumer(called) as reader, asyncio.timeout(15):
        assert [(await reader.getone()).value for _ in range(20)] == [b"%d" % number for number in range(20)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_batches_of_every_codec_are_read_whole(codec, topic, producer, everything):
    called = await topic()
    values = [bytes([65 + number % 26]) * 1000 for number in range(200)]
    async with producer(compression_type=codec, linger_ms=20) as one:
        await asyncio.gather(*[await one.send(called, value) for value in values])
    assert await everything(called) == values


async def test_an_idempotent_producer_keeps_the_order(topic, producer, everything):
    called = await topic()
    values = [b"%d" % number for number in range(1000)]
    async with producer(enable_idempotence=True, max_batch_size=200) as one:
        sent = await asyncio.gather(*[await one.send(called, value) for value in values])
    assert [each.offset for each in sent] == list(range(1000))
    assert await everything(called) == values


@pytest.mark.parametrize("kind", ["idempotent", "transactional"])
async def test_a_producer_goes_on_in_a_topic_that_was_created_again(kind, topic, admin, producer, name, everything):
    called = await topic()
    settings = {"transactional_id": name("tx")} if kind == "transactional" else {"enable_idempotence": True}
    async with producer(**settings) as one, asyncio.timeout(60):

        async def send(value):
            async with one.transaction() if kind == "transactional" else contextlib.nullcontext():
                await one.send_and_wait(called, value)

        for value in (b"0", b"1", b"2"):
            await send(value)
        async with admin() as client:
            await client.delete_topics([called])
            await client.create_topics([NewTopic(called, 1, 1)])
        for value in (b"3", b"4"):
            await send(value)
    assert await everything(called) == [b"3", b"4"]


async def test_a_batch_built_by_hand_is_sent_as_one(topic, producer, everything):
    called = await topic()
    async with producer() as one:
        batch = one.create_batch()
        for number in range(10):
            assert batch.append(key=None, value=b"%d" % number, timestamp=None) is not None
        sent = await (await one.send_batch(batch, called, partition=0))
    assert sent.offset == 0
    assert await everything(called) == [b"%d" % number for number in range(10)]


async def test_key_value_headers_and_time_come_back_as_they_were_sent(topic, producer, consumer):
    called = await topic()
    async with producer() as one:
        await one.send_and_wait(
            called, b"v", b"k", timestamp_ms=1_700_000_000_123, headers=[("h", b"\x00"), ("h", b"")]
        )
        await one.send_and_wait(called, None, b"gone")
    async with consumer(called) as reader, asyncio.timeout(15):
        first, second = await reader.getone(), await reader.getone()
    assert (first.key, first.value, first.headers) == (b"k", b"v", (("h", b"\x00"), ("h", b"")))
    assert (first.timestamp, first.timestamp_type) == (1_700_000_000_123, 0)
    assert (second.key, second.value) == (b"gone", None)


async def test_a_produce_to_an_unknown_topic_creates_it(name, producer, everything):
    called = name("auto")
    async with producer() as one:
        await one.send_and_wait(called, b"first")
    assert await everything(called) == [b"first"]


async def test_a_batch_above_the_topics_limit_is_refused(topic, producer):
    called = await topic(1, **{"max.message.bytes": "20000"})
    async with producer() as one:
        with pytest.raises(MessageSizeTooLargeError):
            await one.send_and_wait(called, b"x" * 50_000)


async def test_group_continues_at_its_committed_offset(topic, producer, consumer, name):
    called, group = await topic(), name("g")
    place = TopicPartition(called, 0)
    await fill(producer, called, 10)
    async with consumer(called, group_id=group) as first, asyncio.timeout(20):
        for _ in range(4):
            await first.getone()
        await first.commit({place: (3, "by hand")})
        await first.commit()
    async with consumer(called, group_id=group) as second, asyncio.timeout(20):
        assert await second.committed(place) == 4
        assert [(await second.getone()).offset for _ in range(6)] == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    "assignor",
    [RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor],
    ids=lambda each: each.name,
)
async def test_two_members_share_the_partitions_and_one_takes_over_what_the_other_leaves(
    assignor, topic, producer, consumer, name
):
    called, group = await topic(4), name("g")
    settings = {"group_id": group, "partition_assignment_strategy": (assignor,), "heartbeat_interval_ms": 300}
    seen: list[tuple[int, int]] = []

    async def poll_until(members, is_done):
        async with asyncio.timeout(30):
            while not is_done():
                for member in members:
                    for messages in (await member.getmany(timeout_ms=50)).values():
                        seen.extend((message.partition, message.offset) for message in messages)
                        await member.commit()

    async with consumer(called, **settings) as first:
        await poll_until([first], lambda: len(first.assignment()) == 4)
        second = consumer(called, **settings)
        await second.start()
        try:
            await poll_until([first, second], lambda: [len(each.assignment()) for each in (first, second)] == [2, 2])
            await fill(producer, called, 40, 4)
            await poll_until([first, second], lambda: len(seen) == 40)
        finally:
            await second.stop()
        await poll_until([first], lambda: len(first.assignment()) == 4)
        await fill(producer, called, 4, 4)
        await poll_until([first], lambda: len(seen) == 44)
    assert sorted(seen) == [(partition, offset) for partition in range(4) for offset in range(11)]


async def test_a_static_member_comes_back_to_its_partitions(topic, producer, consumer, name):
    called, group = await topic(), name("g")
    await fill(producer, called, 2)
    settings = {"group_id": group, "group_instance_id": "one"}
    async with consumer(called, **settings) as first, asyncio.timeout(20):
        assert (await first.getone()).value == b"0"
        await first.commit()
    # It did not leave the group, and its id is known: it need not wait for its own session to end.
    async with consumer(called, **settings) as again, asyncio.timeout(8):
        assert (await again.getone()).value == b"1"


async def test_offsets_are_found_by_time_and_the_ends_are_known(topic, producer, consumer):
    called = await topic()
    place = TopicPartition(called, 0)
    async with producer() as one:
        for number in range(10):
            await one.send_and_wait(called, b"v", timestamp_ms=1_700_000_000_000 + number * 1000)
    async with consumer(called) as reader:
        found = await reader.offsets_for_times({place: 1_700_000_003_500})
        assert (found[place].offset, found[place].timestamp) == (4, 1_700_000_004_000)
        assert await reader.beginning_offsets([place]) == {place: 0}
        assert await reader.end_offsets([place]) == {place: 10}


async def test_seek_pause_and_resume_do_what_they_say(topic, producer, consumer):
    called = await topic(2)
    zero, one = TopicPartition(called, 0), TopicPartition(called, 1)
    await fill(producer, called, 20, 2)
    async with consumer() as reader, asyncio.timeout(20):
        reader.assign([zero, one])
        reader.pause(one)
        reader.seek(zero, 7)
        assert [(await reader.getone()).offset for _ in range(3)] == [7, 8, 9]
        assert await reader.getmany(timeout_ms=400) == {}
        reader.resume(one)
        assert [(await reader.getone()).offset for _ in range(10)] == list(range(10))


async def test_offset_out_of_range_is_an_error_without_a_reset_policy(topic, producer, consumer):
    called = await topic()
    await fill(producer, called, 1)
    async with consumer(auto_offset_reset="none") as reader, asyncio.timeout(15):
        reader.assign([TopicPartition(called, 0)])
        reader.seek(TopicPartition(called, 0), 99)
        with pytest.raises(OffsetOutOfRangeError):
            await reader.getone()


async def test_waiting_consumer_gets_a_record_at_once(topic, producer, consumer):
    called = await topic()
    async with consumer(fetch_max_wait_ms=10_000) as reader, producer() as one:
        reader.assign([TopicPartition(called, 0)])
        waiting = asyncio.ensure_future(reader.getone())
        await asyncio.wait([waiting], timeout=1)
        assert not waiting.done()
        await one.send_and_wait(called, b"now")
        async with asyncio.timeout(2):
            assert (await waiting).value == b"now"
