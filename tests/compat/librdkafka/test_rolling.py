# mypy: disable-error-code="import-not-found"
"""Brokers are restarted one by one under load: no application gets an error, and what was acknowledged is there
once, in order, and read.

broker 0   ──✗ restarted ──────────────     all the while: an idempotent and a transactional producer, two groups, one
broker 1   ─────────────────✗ restarted     that commits by hand and one that leaves it to the client

The test has brokers of its own, of redis-ledger; beside a Kafka that is tested it skips.  A quick run restarts one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.rolled import Brokers

TOPIC, PARTITIONS = "load", 4
PATIENCE_S = 60.0
STEP_S = 30.0  # of a transaction
ABORTED_EVERY = 5
RESTARTED = 1 if os.environ.get("QUICK") == "1" else 2


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    if not os.environ.get("HTTP"):
        pytest.skip("HTTP is not the address of the broker's REST port, so it may not be redis-ledger")
    own = Brokers()
    try:
        yield own
    finally:
        own.clean_up()


class Load:
    """Applications in threads.  acknowledged: acknowledged records of each writer; got: (partition, offset) → value,
    of each group; errors: those that an application got."""

    def __init__(self, kafka: str) -> None:
        self._kafka = kafka
        self.acknowledged: dict[str, list[bytes]] = {"plain": [], "txn": []}
        self.got: dict[str, dict[tuple[int, int], bytes]] = {"by hand": {}, "by itself": {}}
        self.errors: list[str] = []
        self._writing, self._reading = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, *work: Callable[[], None]) -> None:
        for each in work:
            self._threads.append(threading.Thread(target=self._noted, args=(each,), name=each.__name__, daemon=True))
            self._threads[-1].start()

    def _noted(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - whatever an application would have seen
            self.errors.append(f"{work.__name__}: {error!r}")

    def go_on(self) -> None:
        """Waits until each worker has progressed twice, so that work in progress does not count."""
        before, until = self._done(), time.monotonic() + PATIENCE_S
        while any(now < then + 2 for now, then in zip(self._done(), before, strict=True)):
            assert self.errors == []
            assert time.monotonic() < until, f"from {before} only to {self._done()}"
            time.sleep(0.05)  # between two looks at what others do

    def _done(self) -> list[int]:
        return [len(each) for each in (*self.acknowledged.values(), *self.got.values())]

    def end(self) -> None:
        """Writers first; then readers when they have all of it."""
        self._writing.set()
        self._join("plain", "transactional")
        wanted, until = {value for each in self.acknowledged.values() for value in each}, time.monotonic() + PATIENCE_S
        while any(wanted - set(got.values()) for got in self.got.values()) and time.monotonic() < until:
            time.sleep(0.05)  # between two looks at what others do
        self._reading.set()
        self._join("by_hand", "by_itself")

    def stop(self) -> None:
        self._writing.set()
        self._reading.set()

    def _join(self, *names: str) -> None:
        for each in [each for each in self._threads if each.name in names]:
            each.join(PATIENCE_S)
            if each.is_alive():
                self.errors.append(f"{each.name} does not end")

    def _noticed(self, error: KafkaError) -> None:
        """An error callback of a client.  Refused connections are expected: it continues with another broker."""
        if error.fatal() or error.code() != KafkaError._TRANSPORT:
            self.errors.append(f"client: {error}")

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self.errors.append(f"delivery report: {error}")

    # -- the applications ----------------------------------------------------------------------------------------------

    def _producer(self, **settings: Any) -> Producer:
        return Producer({"bootstrap.servers": self._kafka, "linger.ms": 2, "error_cb": self._noticed, **settings})

    def plain(self) -> None:
        producer = self._producer(**{"enable.idempotence": True})
        first = 0
        while not self._writing.is_set():
            values = [b"plain-%d" % (first + each) for each in range(20)]
            first += 20
            self._send(producer, values)
            assert producer.flush(PATIENCE_S) == 0
            self.acknowledged["plain"] += values
            time.sleep(0.02)  # the pace of the load

    def transactional(self) -> None:
        producer = self._producer(**{"transactional.id": "rolled"})
        producer.init_transactions(STEP_S)
        number = 0
        while not self._writing.is_set():
            number += 1
            is_kept = number % ABORTED_EVERY != 0
            values = [b"%s-%d" % (b"txn" if is_kept else b"not", number * 8 + each) for each in range(8)]
            producer.begin_transaction()
            self._send(producer, values)
            assert producer.flush(PATIENCE_S) == 0  # an abort would purge what was not sent yet
            (producer.commit_transaction if is_kept else producer.abort_transaction)(STEP_S)
            if is_kept:
                self.acknowledged["txn"] += values
            time.sleep(0.02)  # the pace of the load

    def _send(self, producer: Producer, values: list[bytes]) -> None:
        for number, value in enumerate(values):
            producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=self._delivered)

    def by_hand(self) -> None:
        consumer = self._consumer("by hand", **{"enable.auto.commit": False})
        while not self._reading.is_set():
            if not self._consume(consumer, "by hand"):
                continue
            consumer.commit(asynchronous=False)
        consumer.close()

    def by_itself(self) -> None:
        consumer = self._consumer("by itself", **{"auto.commit.interval.ms": 500})
        while not self._reading.is_set():
            self._consume(consumer, "by itself")
        consumer.close()

    def _consumer(self, group: str, **settings: Any) -> Consumer:
        common = {"bootstrap.servers": self._kafka, "group.id": group, "auto.offset.reset": "earliest"}
        consumer = Consumer({**common, "isolation.level": "read_committed", "error_cb": self._noticed, **settings})
        consumer.subscribe([TOPIC])
        return consumer

    def _consume(self, consumer: Consumer, group: str) -> bool:
        """Whether there was something."""
        messages = consumer.consume(500, 0.2)
        for each in messages:
            if each.error() is not None:
                self.errors.append(f"{group}: {each.error()}")
            else:
                self.got[group][each.partition(), each.offset()] = each.value()
        return bool(messages)


@pytest.fixture
def load(brokers: Brokers) -> Iterator[Load]:
    applications = Load(brokers.kafka)
    yield applications
    applications.stop()


def by_writer(log: list[bytes]) -> dict[bytes, list[int]]:
    """The numbers of each, in the order of the log."""
    found: dict[bytes, list[int]] = {}
    for value in log:
        writer, _, number = value.partition(b"-")
        found.setdefault(writer, []).append(int(number))
    return found


def committed_log(kafka: str) -> dict[int, dict[int, bytes]]:
    """partition → offset → value, as another consumer reads it."""
    settings = {"bootstrap.servers": kafka, "group.id": "afterwards", "enable.partition.eof": True}
    reader = Consumer({**settings, "isolation.level": "read_committed", "enable.auto.commit": False})
    reader.assign([TopicPartition(TOPIC, each, 0) for each in range(PARTITIONS)])
    found: dict[int, dict[int, bytes]] = {each: {} for each in range(PARTITIONS)}
    ended, until = set[int](), time.monotonic() + PATIENCE_S
    while len(ended) < PARTITIONS:
        assert time.monotonic() < until, f"the end of {set(found) - ended} is not reached"
        for each in reader.consume(1000, 0.2):
            if each.error() is None:
                found[each.partition()][each.offset()] = each.value()
            elif each.error().code() == KafkaError._PARTITION_EOF:
                ended.add(each.partition())
            else:
                raise KafkaException(each.error())
    reader.close()
    return found


@pytest.mark.timeout(600)
def test_a_rolling_restart_is_seen_by_no_application_and_loses_nothing(brokers, load):
    # Given applications that are all at work
    admin = AdminClient({"bootstrap.servers": brokers.kafka})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(15)
    load.start(load.plain, load.transactional, load.by_hand, load.by_itself)
    load.go_on()
    # When each broker is restarted
    for number in range(RESTARTED):
        assert brokers.ask(f"stop {number}") == "0"
        load.go_on()
        assert brokers.ask(f"start {number}") == "ready"
        load.go_on()
    load.end()
    # Then no application got an error
    assert load.errors == []
    # And what was acknowledged is there, once, and in order
    log = committed_log(brokers.kafka)
    there = [value for partition in log.values() for value in partition.values()]
    assert sorted(there) == sorted(value for each in load.acknowledged.values() for value in each)
    for partition in log.values():
        for numbers in by_writer([partition[offset] for offset in sorted(partition)]).values():
            assert numbers == sorted(numbers)
    # And both groups have read it, and nothing else
    everything = {(number, offset): value for number, each in log.items() for offset, value in each.items()}
    assert load.got == {"by hand": everything, "by itself": everything}
