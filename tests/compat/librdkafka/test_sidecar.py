# mypy: disable-error-code="import-not-found"
"""Topics with the sidecar buffer: records of a transaction get offsets at its commit.  Apache Kafka has none."""

from __future__ import annotations

import os

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

BUFFER = {"transaction.buffer": "sidecar"}


@pytest.fixture(autouse=True)
def only_here():
    if not os.environ.get("HTTP"):
        pytest.skip("HTTP is not the address of the broker's REST port, so it may not be redis-ledger")


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_an_open_transaction_delays_no_reader_and_appears_whole_at_its_commit(
    topic, producer, transactional, send, everything, isolation
):
    called, one = topic(**BUFFER), transactional()
    one.begin_transaction()
    assert [send(one, called, [value])[0].offset() for value in (b"a", b"b")] == [None, None]
    send(producer(), called, [b"plain"])
    assert everything(called, isolation=isolation) == [b"plain"]
    send(one, called, [b"c"])
    one.commit_transaction(20)
    assert everything(called, isolation=isolation) == [b"plain", b"a", b"b", b"c"]


def test_an_aborted_transaction_leaves_nothing(topic, transactional, send, everything):
    called, one = topic(**BUFFER), transactional()
    one.begin_transaction()
    send(one, called, [b"aborted"])
    one.abort_transaction(20)
    one.begin_transaction()
    send(one, called, [b"kept"])
    one.commit_transaction(20)
    assert everything(called, isolation="read_uncommitted") == [b"kept"]


def test_offsets_and_times_are_those_of_the_commits(topic, admin, transactional, send):
    called, one, two = topic(**BUFFER), transactional(), transactional()
    place = TopicPartition(called, 0)
    for each, value, time_ms in ((one, b"first begun", 1_000), (two, b"first committed", 2_000)):
        each.begin_transaction()
        send(each, called, [value], timestamp=time_ms)

    def offset(spec):
        return admin.list_offsets({place: spec})[place].result(15).offset

    assert (offset(OffsetSpec.latest()), offset(OffsetSpec.for_timestamp(0))) == (0, -1)
    two.commit_transaction(20)
    one.commit_transaction(20)
    assert offset(OffsetSpec.latest()) == 2
    assert [offset(OffsetSpec.for_timestamp(time_ms)) for time_ms in (0, 2_000, 3_000)] == [0, 0, -1]


def test_a_sidecar_topic_is_consumed_transformed_and_produced_exactly_once(
    topic, producer, transactional, send, consumer, read, name, everything
):
    source, target, group = topic(**BUFFER), topic(**BUFFER), name("g")
    send(producer(), source, [b"%d" % number for number in range(60)])
    worker, one = consumer(source, group_id=group), transactional()
    for attempt in range(7):
        messages = read(worker, 10)
        one.begin_transaction()
        for message in messages:
            one.produce(target, message.value() + b"!")
        one.send_offsets_to_transaction(worker.position(worker.assignment()), worker.consumer_group_metadata(), 20)
        if attempt == 3:  # this one is given up: its records are read once more
            one.abort_transaction(20)
            for place in worker.committed(worker.assignment(), timeout=10):
                worker.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))
        else:
            one.commit_transaction(20)
    assert worker.committed([TopicPartition(source, 0)], timeout=10)[0].offset == 60
    assert everything(target) == [b"%d!" % number for number in range(60)]


def test_a_transaction_of_many_batches_is_read_from_its_middle(topic, transactional, send, consumer, read):
    called, one = topic(**BUFFER), transactional(batch_size=1_000, batch_num_messages=10)
    one.begin_transaction()
    values = [b"%d" % number for number in range(3_000)]
    send(one, called, values)
    one.commit_transaction(20)
    reader = consumer()
    reader.assign([TopicPartition(called, 0, 1_234)])
    messages = read(reader, 3_000 - 1_234)
    assert [(each.offset(), each.value()) for each in messages] == [(n, values[n]) for n in range(1_234, 3_000)]
