# mypy: disable-error-code="import-not-found"
"""kafka-python outside transactions: producing, reading, groups."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from kafka import OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import MessageSizeTooLargeError, OffsetOutOfRangeError

Make = Callable[..., Any]


def fill(one: Any, topic: str, count: int, partitions: int = 1) -> list[int]:
    """Produces 0, 1, 2... over the partitions in turn; returns the offsets."""
    sent = [one.send(topic, b"%d" % number, partition=number % partitions) for number in range(count)]
    return [each.get(20).offset for each in sent]


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_records_arrive_with_every_kind_of_acknowledgement(
    acks: Any, topic: Make, producer: Make, consumer: Make, read: Make
) -> None:
    called = topic()
    one = producer(acks=acks, enable_idempotence=acks == "all")
    offsets = fill(one, called, 20)
    assert acks == 0 or offsets == list(range(20))
    assert [record.value for record in read(consumer(called), 20)] == [b"%d" % number for number in range(20)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_batches_of_every_codec_are_read_whole(
    codec: str | None, topic: Make, producer: Make, everything: Make
) -> None:
    called = topic()
    one = producer(compression_type=codec, linger_ms=20)
    values = [bytes([65 + number % 26]) * 1000 for number in range(200)]
    for sent in [one.send(called, value) for value in values]:
        sent.get(20)
    assert everything(called) == values


def test_an_idempotent_producer_keeps_the_order(topic: Make, producer: Make, everything: Make) -> None:
    called = topic()
    one = producer(enable_idempotence=True, batch_size=200)
    assert fill(one, called, 1000) == list(range(1000))
    assert everything(called) == [b"%d" % number for number in range(1000)]


def test_an_idempotent_producer_goes_on_in_a_topic_that_was_created_again(
    topic: Make, admin: Any, producer: Make, everything: Make
) -> None:
    called = topic()
    one = producer(enable_idempotence=True)
    fill(one, called, 3)
    admin.delete_topics([called])
    admin.create_topics({called: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
    assert fill(one, called, 2) == [0, 1]
    assert everything(called) == [b"0", b"1"]


def test_key_value_headers_and_time_come_back_as_they_were_sent(
    topic: Make, producer: Make, consumer: Make, read: Make
) -> None:
    called = topic()
    one = producer()
    one.send(called, b"v", b"k", headers=[("h", b"\x00"), ("h", b"")], timestamp_ms=1_700_000_000_123).get(10)
    one.send(called, None, b"gone").get(10)
    first, second = read(consumer(called), 2)
    assert (first.key, first.value, list(first.headers)) == (b"k", b"v", [("h", b"\x00"), ("h", b"")])
    assert (first.timestamp, first.timestamp_type) == (1_700_000_000_123, 0)
    assert (second.key, second.value) == (b"gone", None)


def test_a_produce_to_an_unknown_topic_creates_it(name: Make, producer: Make, everything: Make) -> None:
    called = name("auto")
    producer().send(called, b"first").get(15)
    assert everything(called) == [b"first"]


def test_a_batch_above_the_topics_limit_is_refused(topic: Make, producer: Make) -> None:
    called = topic(1, **{"max.message.bytes": "20000"})
    with pytest.raises(MessageSizeTooLargeError):
        producer().send(called, b"x" * 50_000).get(15)


def test_group_continues_at_its_committed_offset(
    topic: Make, producer: Make, consumer: Make, read: Make, name: Make
) -> None:
    called, group = topic(), name("g")
    place = TopicPartition(called, 0)
    fill(producer(), called, 10)
    first = consumer(called, group_id=group)
    read(first, 4)
    first.commit({place: OffsetAndMetadata(4, "by hand", -1)})
    first.close()
    second = consumer(called, group_id=group)
    assert [record.offset for record in read(second, 6)] == [4, 5, 6, 7, 8, 9]
    assert second.committed(place, metadata=True)[:2] == (4, "by hand")


class Member:
    """A member of a group that polls in a thread of its own.  With two members in one thread, the answer to SyncGroup
    can come while the other member polls; the generation is over then, and the group rebalances for ever."""

    def __init__(self, consumer: Any, seen: list[tuple[int, int]]) -> None:
        """seen: partition and offset of every record, in the order of the polls."""
        self.partitions = 0
        self._consumer, self._seen = consumer, seen
        self._leaves = threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Member:
        self._polling = self._pool.submit(self._poll)
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves the group.  Raises what a poll or a commit raised."""
        self._leaves.set()
        self._polling.result(60)

    def _poll(self) -> None:
        while not self._leaves.is_set():
            for records in self._consumer.poll(timeout_ms=100).values():
                self._seen.extend((record.partition, record.offset) for record in records)
                self._consumer.commit()
            self.partitions = len(self._consumer.assignment())
        self._consumer.close(autocommit=False)


@pytest.mark.parametrize(
    "assignor",
    [RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor],
    ids=lambda each: each.name,
)
def test_two_members_share_the_partitions_and_one_takes_over_what_the_other_leaves(
    assignor: Any, topic: Make, producer: Make, consumer: Make, name: Make, eventually: Make
) -> None:
    called, group = topic(4), name("g")
    settings = {"group_id": group, "partition_assignment_strategy": (assignor,), "heartbeat_interval_ms": 300}
    seen: list[tuple[int, int]] = []
    with Member(consumer(called, **settings), seen) as first:
        eventually(lambda: first.partitions == 4, 30)
        with Member(consumer(called, **settings), seen) as second:
            eventually(lambda: (first.partitions, second.partitions) == (2, 2), 30)
            fill(producer(), called, 40, 4)
            eventually(lambda: len(seen) == 40, 30)
        eventually(lambda: first.partitions == 4, 30)
        fill(producer(), called, 4, 4)
        eventually(lambda: len(seen) == 44, 30)
    assert sorted(seen) == [(partition, offset) for partition in range(4) for offset in range(11)]


def test_a_static_member_comes_back_to_its_partitions(
    topic: Make, producer: Make, consumer: Make, read: Make, name: Make
) -> None:
    called, settings = topic(), {"group_id": name("g"), "group_instance_id": "one"}
    fill(producer(), called, 2)
    first = consumer(called, **settings)
    (record,) = read(first, 1)
    first.commit({TopicPartition(called, 0): OffsetAndMetadata(record.offset + 1, "", -1)})
    first.close()
    # It did not leave the group, and its id is known: it need not wait for its own session to end.
    assert [each.offset for each in read(consumer(called, **settings), 1, 8)] == [1]


def test_offsets_are_found_by_time_and_the_ends_are_known(topic: Make, producer: Make, consumer: Make) -> None:
    called = topic()
    place, one = TopicPartition(called, 0), producer()
    for number in range(10):
        one.send(called, b"v", timestamp_ms=1_700_000_000_000 + number * 1000).get(10)
    reader = consumer(called)
    found = reader.offsets_for_times({place: 1_700_000_003_500})[place]
    assert (found.offset, found.timestamp) == (4, 1_700_000_004_000)
    assert (reader.beginning_offsets([place]), reader.end_offsets([place])) == ({place: 0}, {place: 10})


def test_seek_pause_and_resume_do_what_they_say(topic: Make, producer: Make, consumer: Make, read: Make) -> None:
    called = topic(2)
    zero, one = TopicPartition(called, 0), TopicPartition(called, 1)
    fill(producer(), called, 20, 2)
    reader = consumer()
    reader.assign([zero, one])
    reader.pause(one)
    reader.seek(zero, 7)
    assert [record.offset for record in read(reader, 3)] == [7, 8, 9]
    assert read(reader, None, 0.5) == []
    reader.resume(one)
    assert [record.offset for record in read(reader, 10)] == list(range(10))


def test_offset_out_of_range_is_an_error_without_a_reset_policy(
    topic: Make, producer: Make, consumer: Make, read: Make
) -> None:
    called = topic()
    fill(producer(), called, 1)
    reader = consumer(auto_offset_reset="none")
    reader.assign([TopicPartition(called, 0)])
    reader.seek(TopicPartition(called, 0), 99)
    with pytest.raises(OffsetOutOfRangeError):
        read(reader, 1)


def test_waiting_consumer_gets_a_record_at_once(topic: Make, producer: Make, consumer: Make, read: Make) -> None:
    called = topic()
    one = producer()
    reader = consumer(fetch_max_wait_ms=10_000)
    reader.assign([TopicPartition(called, 0)])
    assert read(reader, None, 1) == []
    one.send(called, b"now").get(10)
    began = time.monotonic()
    read(reader, 1)
    assert time.monotonic() - began < 2, "the fetch waited its whole ten seconds"
