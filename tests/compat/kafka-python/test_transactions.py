# mypy: disable-error-code="import-not-found"
"""Transactions of kafka-python 3, and what its admin client tells of them and can do to them (KIP-664)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka import OffsetAndMetadata, TopicPartition
from kafka.admin import AbortTransactionSpec
from kafka.errors import KafkaError, ProducerFencedError, TransactionalIdNotFoundError

Make = Callable[..., Any]


def test_a_committed_transaction_is_read_whole(topic: Make, producer: Make, name: Make, everything: Make) -> None:
    first, second = topic(2), topic()
    one = producer(transactional_id=name("tx"))
    one.begin_transaction()
    for number in range(30):
        called, partition = [(first, 0), (first, 1), (second, 0)][number % 3]
        one.send(called, b"%d" % number, partition=partition)
    one.commit_transaction()
    read = everything(first, 0) + everything(first, 1) + everything(second)
    assert sorted(map(int, read)) == list(range(30))


def test_an_aborted_transaction_is_seen_only_by_those_who_read_everything(
    topic: Make, producer: Make, name: Make, everything: Make
) -> None:
    called = topic()
    one = producer(transactional_id=name("tx"))
    one.begin_transaction()
    one.send(called, b"aborted").get(10)
    one.abort_transaction()
    one.begin_transaction()
    one.send(called, b"kept").get(10)
    one.commit_transaction()
    assert everything(called) == [b"kept"]
    assert everything(called, isolation="read_uncommitted") == [b"aborted", b"kept"]


def test_thirty_transactions_in_a_row_commit_and_abort_in_turn(
    topic: Make, producer: Make, name: Make, everything: Make
) -> None:
    called = topic()
    one = producer(transactional_id=name("tx"))
    for number in range(30):
        one.begin_transaction()
        sent = one.send(called, b"%d" % number)
        if number % 3 == 2:
            sent.get(10)
            one.abort_transaction()
        else:
            one.commit_transaction()
    assert everything(called) == [b"%d" % number for number in range(30) if number % 3 != 2]


def test_a_second_instance_fences_the_first(topic: Make, producer: Make, name: Make, everything: Make) -> None:
    called, same = topic(), name("tx")
    first = producer(transactional_id=same)
    first.begin_transaction()
    first.send(called, b"of the first").get(10)
    second = producer(transactional_id=same)
    second.begin_transaction()
    second.send(called, b"of the second")
    second.commit_transaction()
    with pytest.raises(ProducerFencedError):
        first.commit_transaction()
    assert everything(called) == [b"of the second"]


def test_records_are_consumed_transformed_and_produced_exactly_once(
    topic: Make, producer: Make, consumer: Make, read: Make, name: Make, everything: Make, eventually: Make
) -> None:
    source, target, group = topic(), topic(), name("g")
    place = TopicPartition(source, 0)
    plain = producer()
    for sent in [plain.send(source, b"%d" % number) for number in range(100)]:
        sent.get(10)
    one, worker = producer(transactional_id=name("tx")), consumer(source, group_id=group)
    for attempt in range(11):
        records = read(worker, 10)
        one.begin_transaction()
        for record in records:
            one.send(target, record.value + b"!")
        one.send_offsets_to_transaction(
            {place: OffsetAndMetadata(records[-1].offset + 1, "", -1)}, worker.group_metadata()
        )
        if attempt == 4:
            # This one is given up: its records are read once more.
            one.abort_transaction()
            worker.seek(place, worker.committed(place) or 0)
        else:
            one.commit_transaction()
    # It does not ask for stable offsets, so on Kafka it may see the one before until the last marker is written.
    eventually(lambda: worker.committed(place) == 100)
    assert everything(target) == [b"%d!" % number for number in range(100)]


def test_a_timeout_above_the_brokers_limit_is_refused(producer: Make, name: Make) -> None:
    with pytest.raises(KafkaError, match="InvalidTransactionTimeoutError"):
        producer(transactional_id=name("tx"), transaction_timeout_ms=2_000_000_000)


def test_an_open_transaction_is_listed_described_and_shown_by_its_partition(
    admin: Any, topic: Make, producer: Make, name: Make, eventually: Make
) -> None:
    called, same = topic(), name("tx")
    place = TopicPartition(called, 0)
    producer().send(called, b"plain").get(10)
    one = producer(transactional_id=same)
    one.begin_transaction()
    one.send(called, b"in doubt").get(10)

    def listed(**filters: Any) -> dict[str, str]:
        return {
            each.transactional_id: each.state for rows in admin.list_transactions(**filters).values() for each in rows
        }

    assert listed()[same] == "Ongoing"
    assert same not in listed(state_filters=["CompleteCommit"])
    assert same not in listed(duration_filter_ms=600_000)
    assert listed(transactional_id_pattern=f"{same[:-1]}.") == {same: "Ongoing"}
    found = admin.describe_transactions([same])[same]
    assert (found.state, found.topic_partitions, found.transaction_timeout_ms) == ("Ongoing", {place}, 60_000)
    producers = {each.producer_id: each for each in admin.describe_producers([place])[place].active_producers}
    assert producers[found.producer_id].current_transaction_start_offset == 1
    assert producers[found.producer_id].producer_epoch == found.producer_epoch
    one.commit_transaction()
    eventually(lambda: admin.describe_transactions([same])[same].state == "CompleteCommit")
    assert admin.describe_transactions([same])[same].topic_partitions == set()
    with pytest.raises(TransactionalIdNotFoundError):
        admin.describe_transactions([name("unknown")])


def test_a_transaction_is_aborted_by_its_partition_and_its_producer(
    admin: Any, topic: Make, producer: Make, consumer: Make, read: Make, name: Make
) -> None:
    called = topic()
    place = TopicPartition(called, 0)
    one, plain = producer(transactional_id=name("tx")), producer()
    one.begin_transaction()
    one.send(called, b"in doubt").get(10)
    plain.send(called, b"behind").get(10)
    reader = consumer(called, isolation_level="read_committed")
    assert read(reader, None, 1) == []
    (open_one,) = [
        each
        for each in admin.describe_producers([place])[place].active_producers
        if each.current_transaction_start_offset >= 0
    ]
    admin.abort_transaction(AbortTransactionSpec(place, open_one.producer_id, open_one.producer_epoch))
    assert [record.value for record in read(reader, 1)] == [b"behind"]


def test_a_young_transaction_does_not_count_as_hanging(admin: Any, topic: Make, producer: Make, name: Make) -> None:
    same = name("tx")
    one = producer(transactional_id=same)
    one.begin_transaction()
    one.send(topic(), b"in doubt").get(10)
    assert same not in [each["transactional_id"] for each in admin.find_hanging_transactions()]
    # Five minutes are added to the limit, so less than none shows every open one.
    shown = admin.find_hanging_transactions(max_transaction_timeout_ms=-300_000)
    assert same in [each["transactional_id"] for each in shown]
    one.abort_transaction()
