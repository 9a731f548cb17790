# mypy: disable-error-code="import-not-found"
"""Reading with librdkafka: positions, groups of both protocols, and what a rebalance leaves."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

GROUPS = [
    pytest.param({"partition.assignment.strategy": "range"}, id="range"),
    pytest.param({"partition.assignment.strategy": "roundrobin"}, id="roundrobin"),
    pytest.param({"partition.assignment.strategy": "cooperative-sticky"}, id="cooperative-sticky"),
    pytest.param({"group.protocol": "consumer"}, id="kip-848"),
]


def offsets_of(consumer, topic, partitions):
    found = consumer.committed([TopicPartition(topic, number) for number in range(partitions)], timeout=10)
    return [each.offset for each in found]


@pytest.mark.parametrize("settings", GROUPS)
def test_two_members_share_the_partitions_and_one_takes_over_what_the_other_leaves(
    settings, topic, producer, send, consumer, name, eventually
):
    called, group, seen = topic(4), name("g"), []

    def poll(*members):
        for member in members:
            message = member.poll(0.05)
            if message is not None and message.error() is None:
                seen.append((message.partition(), message.offset()))
                member.commit(message, asynchronous=False)

    def share(member):
        return {each.partition for each in member.assignment()}

    def shared(*members, sizes):
        poll(*members)
        parts = [share(member) for member in members]
        return [len(part) for part in parts] == sizes and set().union(*parts) == {0, 1, 2, 3}

    # Given one member that has everything
    first = consumer(called, group_id=group, **settings)
    eventually(lambda: shared(first, sizes=[4]), 30)
    # When a second joins
    second = consumer(called, group_id=group, **settings)
    eventually(lambda: shared(first, second, sizes=[2, 2]), 40)
    # Then each record reaches one of them
    for partition in range(4):
        send(producer(), called, [b"%d" % number for number in range(5)], partition=partition)
    eventually(lambda: poll(first, second) or len(seen) == 20, 30)
    # And when the second leaves, the first goes on where it was
    second.close()
    eventually(lambda: shared(first, sizes=[4]), 40)
    for partition in range(4):
        send(producer(), called, [b"more"], partition=partition)
    eventually(lambda: poll(first) or len(seen) == 24, 30)
    assert sorted(seen) == [(partition, offset) for partition in range(4) for offset in range(6)]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_group_continues_at_its_committed_offset(protocol, topic, producer, send, consumer, read, name):
    called, group = topic(), name("g")
    send(producer(), called, [b"%d" % number for number in range(10)])
    first = consumer(called, group_id=group, group_protocol=protocol)
    messages = read(first, 4)
    first.commit(offsets=[TopicPartition(called, 0, 4, metadata="by hand")], asynchronous=False)
    first.close()
    second = consumer(called, group_id=group, group_protocol=protocol)
    rest = read(second, 6)
    committed = second.committed([TopicPartition(called, 0)], timeout=10)[0]
    assert [message.value() for message in messages + rest] == [b"%d" % number for number in range(10)]
    assert (committed.offset, committed.metadata) == (4, "by hand")


def test_auto_commit_commits_positions(topic, producer, send, consumer, read, name):
    called, group = topic(2), name("g")
    for partition in range(2):
        send(producer(), called, [b"v"] * 7, partition=partition)
    automatic = consumer(called, group_id=group, enable_auto_commit=True, auto_commit_interval_ms=100)
    read(automatic, 14)
    automatic.close()
    assert offsets_of(consumer(group_id=group), called, 2) == [7, 7]


def test_a_static_member_that_comes_back_gets_its_partitions_without_a_rebalance(
    topic, producer, send, consumer, name, eventually
):
    called, group, rebalances = topic(2), name("g"), []

    def member(instance):
        return consumer(
            called,
            on_assign=lambda _, partitions: rebalances.append(
                (instance, sorted(each.partition for each in partitions))
            ),
            group_id=group,
            group_instance_id=instance,
            session_timeout_ms=20_000,
            heartbeat_interval_ms=500,
        )

    first, second = member("one"), member("two")
    eventually(lambda: first.poll(0.05) or second.poll(0.05) or (first.assignment() and second.assignment()), 30)
    had = [each.partition for each in second.assignment()]
    before = len(rebalances)
    # When the second goes and comes back within its session
    second.close()
    again = member("two")
    eventually(lambda: first.poll(0.05) or again.poll(0.05) or again.assignment(), 15)
    # Then it has what it had, and the first was not disturbed
    assert [each.partition for each in again.assignment()] == had
    assert [who for who, _ in rebalances[before:]] == ["two"]


def test_the_second_of_two_live_members_with_one_instance_id_fences_the_first(topic, consumer, name, eventually):
    called, group = topic(1), name("g")
    first = consumer(called, group_id=group, group_instance_id="same", heartbeat_interval_ms=500)
    eventually(lambda: first.poll(0.05) or first.assignment(), 20)
    second = consumer(called, group_id=group, group_instance_id="same", heartbeat_interval_ms=500)
    eventually(lambda: second.poll(0.05) or second.assignment(), 20)

    def fenced():
        try:
            message = first.poll(0.1)
        except KafkaException as error:
            return error.args[0].code() == KafkaError.FENCED_INSTANCE_ID
        return message is not None and message.error() and message.error().code() == KafkaError._FATAL

    eventually(fenced, 15)
    assert [each.partition for each in second.assignment()] == [0]


def test_a_new_group_begins_at_the_start_or_at_the_end(topic, producer, send, consumer, read, eventually):
    called = topic()
    send(producer(), called, [b"old"])
    assert [message.value() for message in read(consumer(called, auto_offset_reset="earliest"), 1)] == [b"old"]
    reader = consumer(called, auto_offset_reset="latest")
    # It says nowhere when it has found the end, so new records come until it gets one.
    first = eventually(lambda: reader.poll(0.2) or send(producer(), called, [b"new"]) is None)
    assert first.value() == b"new"


def test_seek_pause_and_resume_do_what_they_say(topic, producer, send, consumer, read):
    called = topic(2)
    for partition in range(2):
        send(producer(), called, [b"%d" % number for number in range(20)], partition=partition)
    reader = consumer()
    reader.assign([TopicPartition(called, 0, 0), TopicPartition(called, 1, 0)])
    read(reader, 40)
    reader.pause([TopicPartition(called, 1)])
    reader.seek(TopicPartition(called, 0, 15))
    assert [(message.partition(), message.offset()) for message in read(reader, 5)] == [(0, at) for at in range(15, 20)]
    send(producer(), called, [b"late"], partition=1)
    assert read(reader, None, 0.5) == []
    reader.resume([TopicPartition(called, 1)])
    assert [message.value() for message in read(reader, 1)] == [b"late"]
    assert reader.position([TopicPartition(called, 0)])[0].offset == 20


def test_offsets_are_found_by_time_and_the_ends_are_known(topic, producer, send, consumer):
    called = topic()
    for number in range(10):
        send(producer(), called, [b"v"], timestamp=1_700_000_000_000 + number * 1000)
    reader = consumer()
    asked = [TopicPartition(called, 0, 1_700_000_003_500)]
    assert reader.get_watermark_offsets(TopicPartition(called, 0), timeout=10) == (0, 10)
    assert reader.offsets_for_times(asked, timeout=10)[0].offset == 4
    beyond = reader.offsets_for_times([TopicPartition(called, 0, 1_800_000_000_000)], timeout=10)[0]
    assert beyond.offset == -1  # the end of the partition


def test_an_offset_out_of_range_is_an_error_or_a_reset(topic, producer, send, consumer, read):
    called = topic()
    send(producer(), called, [b"only"])
    strict = consumer(auto_offset_reset="error")
    strict.assign([TopicPartition(called, 0, 99)])
    with pytest.raises(KafkaException) as refused:
        read(strict, 1, 10)
    assert refused.value.args[0].code() == KafkaError._AUTO_OFFSET_RESET
    lenient = consumer(auto_offset_reset="earliest")
    lenient.assign([TopicPartition(called, 0, 99)])
    assert [message.value() for message in read(lenient, 1)] == [b"only"]


def test_waiting_consumer_gets_a_record_at_once(topic, producer, send, consumer, read):
    called = topic()
    reader = consumer(fetch_wait_max_ms=10_000)
    reader.assign([TopicPartition(called, 0, 0)])
    assert read(reader, None, 1) == []
    one = producer(linger_ms=0)
    began = time.monotonic()
    send(one, called, [b"now"])
    read(reader, 1)
    assert time.monotonic() - began < 2, "the fetch waited its whole ten seconds"


def test_a_reader_of_many_partitions_gets_all_of_them(topic, producer, send, consumer, read):
    called = topic(40)
    one = producer()
    for partition in range(40):
        for _ in range(25):
            one.produce(called, b"x" * 500, partition=partition)
    one.flush(20)
    reader = consumer(called, fetch_max_bytes=20_000, max_partition_fetch_bytes=4000, message_max_bytes=20_000)
    messages = read(reader, 1000, 30)
    assert len({(message.partition(), message.offset()) for message in messages}) == 1000


def test_a_topic_that_does_not_exist_is_an_error_for_its_reader(consumer, name, read):
    reader = consumer(name("nowhere"), allow_auto_create_topics=False)
    with pytest.raises(KafkaException) as refused:
        read(reader, 1, 15)
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_pattern_takes_in_a_topic_that_is_created_later(producer, send, consumer, read, name):
    stem = name("many")
    one = producer()
    send(one, f"{stem}-a", [b"a"])
    reader = consumer(f"^{stem}-.*", topic_metadata_refresh_interval_ms=500)
    assert [message.value() for message in read(reader, 1)] == [b"a"]
    reader.commit(asynchronous=False)
    send(one, f"{stem}-b", [b"b"])
    assert [message.value() for message in read(reader, 1, 30)] == [b"b"]
