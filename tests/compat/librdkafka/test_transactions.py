# mypy: disable-error-code="import-not-found"
"""Transactions of librdkafka: all of it or nothing, one owner of a transactional id, and an end in time."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition


def code_of(raised):
    return raised.value.args[0].code()


def test_a_committed_transaction_over_several_topics_is_read_whole(topic, transactional, everything):
    first, second = topic(2), topic()
    one = transactional()
    one.begin_transaction()
    for number in range(60):
        called, partition = [(first, 0), (first, 1), (second, 0)][number % 3]
        one.produce(called, b"%d" % number, partition=partition)
    one.commit_transaction(20)
    read = everything(first, 0) + everything(first, 1) + everything(second, 0)
    assert sorted(read, key=int) == [b"%d" % number for number in range(60)]


def test_an_aborted_transaction_is_seen_only_by_those_who_read_everything(topic, transactional, everything):
    called = topic()
    one = transactional()
    one.begin_transaction()
    one.produce(called, b"aborted")
    one.flush(10)
    one.abort_transaction(20)
    one.begin_transaction()
    one.produce(called, b"kept")
    one.commit_transaction(20)
    assert everything(called) == [b"kept"]
    assert everything(called, isolation="read_uncommitted") == [b"aborted", b"kept"]


def test_fifty_transactions_in_a_row_commit_and_abort_in_turn(topic, transactional, everything):
    called = topic(3)
    one = transactional()
    for number in range(50):
        one.begin_transaction()
        one.produce(called, b"%d" % number, partition=number % 3)
        if number % 5 == 4:
            one.abort_transaction(20)
        else:
            one.commit_transaction(20)
    read = [value for partition in range(3) for value in everything(called, partition)]
    assert sorted(map(int, read)) == [number for number in range(50) if number % 5 != 4]


def test_a_transaction_without_records_commits_and_aborts(transactional):
    one = transactional()
    one.begin_transaction()
    one.commit_transaction(20)
    one.begin_transaction()
    one.abort_transaction(20)
    with pytest.raises(KafkaException) as refused:
        one.commit_transaction(5)
    assert code_of(refused) == KafkaError._STATE


def test_an_open_transaction_holds_back_what_lies_behind_it(topic, producer, transactional, send, consumer, read):
    called = topic()
    one = transactional()
    reader = consumer(called, isolation_level="read_committed")
    dirty = consumer(called, isolation_level="read_uncommitted")
    send(producer(), called, [b"before"])
    one.begin_transaction()
    one.produce(called, b"in doubt")
    one.flush(10)
    send(producer(), called, [b"behind"])
    assert [message.value() for message in read(reader, 1)] == [b"before"]
    assert read(reader, None, 1) == []
    assert [message.value() for message in read(dirty, 3)] == [b"before", b"in doubt", b"behind"]
    assert reader.get_watermark_offsets(TopicPartition(called, 0), timeout=10)[1] == 1  # the last stable offset
    one.commit_transaction(20)
    assert [message.value() for message in read(reader, 2)] == [b"in doubt", b"behind"]


def test_two_producers_interleaved_do_not_disturb_each_other(topic, transactional, everything):
    called = topic()
    kept, dropped = transactional(), transactional()
    for one in (kept, dropped):
        one.begin_transaction()
    for number in range(20):
        for one, tag in ((kept, b"kept"), (dropped, b"dropped")):
            one.produce(called, tag + b" %d" % number)
            one.flush(10)
    dropped.abort_transaction(20)
    assert everything(called) == []
    kept.commit_transaction(20)
    assert everything(called) == [b"kept %d" % number for number in range(20)]


def test_a_second_instance_fences_the_first_and_ends_its_transaction(topic, transactional, name, everything):
    called, same = topic(), name("tx")
    first = transactional(same)
    first.begin_transaction()
    first.produce(called, b"of the first")
    first.flush(10)
    second = transactional(same)
    second.begin_transaction()
    second.produce(called, b"of the second")
    second.commit_transaction(20)
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(20)
    assert code_of(refused) == KafkaError._FENCED
    assert refused.value.args[0].fatal()
    assert everything(called) == [b"of the second"]


def test_a_fenced_instance_cannot_write_any_more(topic, transactional, name, everything):
    called, same, errors = topic(), name("tx"), []
    first = transactional(same)
    transactional(same)
    first.begin_transaction()
    first.produce(called, b"late", on_delivery=lambda error, _: errors.append(error))
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(20)
    assert code_of(refused) == KafkaError._FENCED
    first.purge()
    first.poll(1)
    assert [error is not None for error in errors] == [True]
    assert everything(called) == []


def test_records_are_consumed_transformed_and_produced_exactly_once(
    topic, producer, transactional, send, consumer, read, name, everything
):
    source, target, group = topic(2), topic(2), name("g")
    for partition in range(2):
        send(producer(), source, [b"%d" % number for number in range(100)], partition=partition)
    worker, one = consumer(source, group_id=group), transactional()
    for attempt in range(21):
        messages = read(worker, 10)
        one.begin_transaction()
        for message in messages:
            one.produce(target, message.value() + b"!", partition=message.partition())
        one.send_offsets_to_transaction(worker.position(worker.assignment()), worker.consumer_group_metadata(), 20)
        if attempt == 7:
            # This one is given up: its records are read once more.
            one.abort_transaction(20)
            for place in worker.committed(worker.assignment(), timeout=10):
                worker.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))
        else:
            one.commit_transaction(20)
    committed = worker.committed([TopicPartition(source, number) for number in range(2)], timeout=10)
    assert [each.offset for each in committed] == [100, 100]
    for partition in range(2):
        assert everything(target, partition) == [b"%d!" % number for number in range(100)]


def test_offsets_of_an_open_transaction_are_not_yet_committed(
    topic, producer, transactional, send, consumer, read, name
):
    called, group = topic(), name("g")
    send(producer(), called, [b"v"] * 3)
    worker, one = consumer(called, group_id=group), transactional()
    read(worker, 3)
    one.begin_transaction()
    one.send_offsets_to_transaction([TopicPartition(called, 0, 3)], worker.consumer_group_metadata(), 20)
    # A reader that wants stable offsets waits for the transaction; librdkafka asks for them with read_committed.
    with pytest.raises(KafkaException) as refused:
        consumer(group_id=group).committed([TopicPartition(called, 0)], timeout=1)
    assert code_of(refused) == KafkaError._TIMED_OUT
    one.commit_transaction(20)
    assert worker.committed([TopicPartition(called, 0)], timeout=10)[0].offset == 3


def test_offsets_of_a_member_that_left_are_refused(topic, producer, transactional, send, consumer, read, name):
    called, group = topic(), name("g")
    send(producer(), called, [b"v"])
    worker = consumer(called, group_id=group)
    read(worker, 1)
    stale = worker.consumer_group_metadata()
    worker.close()
    read(consumer(called, group_id=group), 1)
    one = transactional()
    one.begin_transaction()
    one.produce(called, b"of a zombie")
    with pytest.raises(KafkaException) as refused:
        one.send_offsets_to_transaction([TopicPartition(called, 0, 1)], stale, 20)
    assert refused.value.args[0].txn_requires_abort()
    one.abort_transaction(20)


def test_expired_transaction_is_aborted_and_its_producer_gets_an_error(
    topic, producer, transactional, send, everything, eventually
):
    called = topic()
    one = transactional(transaction_timeout_ms=2000)
    one.begin_transaction()
    one.produce(called, b"forgotten")
    one.flush(10)
    send(producer(), called, [b"behind"])
    began = time.monotonic()
    eventually(lambda: everything(called) == [b"behind"], 20)
    assert time.monotonic() - began > 1
    with pytest.raises(KafkaException) as refused:
        one.commit_transaction(20)
    assert refused.value.args[0].fatal()
    assert everything(called) == [b"behind"]


def test_a_timeout_above_the_brokers_limit_is_refused(producer, name):
    one = producer(transactional_id=name("tx"), transaction_timeout_ms=2_000_000_000)
    with pytest.raises(KafkaException) as refused:
        one.init_transactions(20)
    assert code_of(refused) == KafkaError.INVALID_TRANSACTION_TIMEOUT


def test_the_next_instance_ends_what_the_last_left_open_and_the_marker_takes_an_offset(
    topic, transactional, name, everything, consumer
):
    called, same = topic(), name("tx")
    last = transactional(same)
    last.begin_transaction()
    last.produce(called, b"abandoned")
    last.flush(10)
    following = transactional(same)
    assert everything(called) == []
    assert consumer().get_watermark_offsets(TopicPartition(called, 0), timeout=10)[1] == 2
    following.begin_transaction()
    following.produce(called, b"next")
    following.commit_transaction(20)
    assert everything(called) == [b"next"]


def test_a_transaction_of_a_thousand_records_and_many_partitions_is_read_whole(topic, transactional, everything):
    called = topic(30)
    one = transactional(linger_ms=5)
    one.begin_transaction()
    for number in range(3000):
        one.produce(called, b"%d" % number, partition=number % 30)
        one.poll(0)
    one.commit_transaction(30)
    read = [value for partition in range(30) for value in everything(called, partition)]
    assert sorted(map(int, read)) == list(range(3000))
