# mypy: disable-error-code="import-not-found"
"""Records delivered later, by header: what redis-ledger has and Kafka does not, so that there these tests skip."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
import urllib.request

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

HTTP = os.environ.get("HTTP", "")
# Half of the records are aborted, a hundred of the others cancelled.
RECORDS, SPREAD_MS = (1_000, 5_000) if os.environ.get("QUICK") == "1" else (10_000, 30_000)
TRANSACTIONS, CANCELLED, PARTITIONS = 100, 100, 4


def now_ms():
    return time.time_ns() // 1_000_000


@pytest.fixture
def delayed(topic):
    """A topic whose records wait for the time in their headers."""

    def create(partitions=1):
        try:
            return topic(partitions, **{"delayed.delivery": "true"})
        except KafkaException as error:
            if error.args[0].code() == KafkaError.INVALID_CONFIG:
                pytest.skip("this broker does not deliver later")
            raise

    return create


def rest(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(f"{HTTP}{path}", data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return json.load(answer)


class Reading(threading.Thread):
    """The records of a read_committed consumer, with their times of arrival."""

    def __init__(self, consumer, topic):
        super().__init__(daemon=True)
        self._consumer, self._topic = consumer, topic
        self.seen, self.errors, self.stopped = [], [], threading.Event()

    def run(self):
        self._consumer.assign([TopicPartition(self._topic, number, 0) for number in range(PARTITIONS)])
        while not self.stopped.is_set():
            for message in self._consumer.consume(500, 0.1):
                if message.error():
                    self.errors.append(message.error())
                else:
                    self.seen.append((message.value().decode(), now_ms()))


def test_scheduled_transactional_records_arrive_once_and_not_early(delayed, transactional, consumer):
    if not HTTP:
        pytest.skip("HTTP is not the address of the broker's REST port")
    # Given records spread over a while, in transactions of which every second one is aborted
    called = delayed(PARTITIONS)
    reading = Reading(consumer(isolation_level="read_committed"), called)
    reading.start()
    first = now_ms() + 8_000
    dues = {f"r{number}": first + number * SPREAD_MS // RECORDS for number in range(RECORDS)}
    one, committed = transactional(linger_ms=5), set()
    # Every transaction has some of the whole time
    for number in range(TRANSACTIONS):
        names = list(itertools.islice(dues, number, None, TRANSACTIONS))
        one.begin_transaction()
        for at, name in enumerate(names):
            headers = {"deliver-at": str(dues[name]), "other": b"x"}
            one.produce(called, name, partition=at % PARTITIONS, headers=headers)
        if number % 2:
            one.flush(20)
            one.abort_transaction(20)
        else:
            one.commit_transaction(20)
            committed.update(names)
    # When REST takes back a hundred of those that are due last
    late = first + SPREAD_MS * 2 // 3
    waiting = rest("GET", f"/v1/topics/{called}/scheduled?from={late}&limit={CANCELLED}")["scheduled"]
    outcomes = rest("POST", f"/v1/topics/{called}/scheduled:cancel", {"ids": [each["id"] for each in waiting]})
    assert [each["outcome"] for each in outcomes["results"]] == ["cancelled"] * CANCELLED
    cancelled = {each["text"] for each in waiting}
    assert cancelled <= committed
    # Then the others arrive, each once and when it is due
    expected = committed - cancelled
    deadline = time.monotonic() + (max(dues.values()) - now_ms()) / 1000 + 60
    while len(reading.seen) < len(expected) and time.monotonic() < deadline:
        time.sleep(0.05)  # the clients' threads are at work
    time.sleep(1)  # what should not come would come by now
    reading.stopped.set()
    reading.join(10)
    assert reading.errors == []
    assert sorted(name for name, _ in reading.seen) == sorted(expected)
    early = {name: dues[name] - seen for name, seen in reading.seen if seen < dues[name]}
    assert early == {}
    assert rest("GET", f"/v1/topics/{called}/scheduled")["scheduled"] == []


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batch_is_split_by_due_time_for_any_codec(delayed, producer, send, consumer, read, codec):
    called = delayed()
    one, reader = producer(enable_idempotence=True, compression_type=codec, linger_ms=50), consumer(called)
    send(one, called, [b"both are connected"])
    read(reader, 1)
    first = now_ms() + 3_000
    for number in range(200):
        headers = [("deliver-at", str(first + 200 * (number % 3 - 1)))] if number % 3 else []
        one.produce(called, b"%d" % number, headers=headers)
    assert one.flush(10) == 0
    at_once = [int(message.value()) for message in read(reader, 67)]
    assert at_once == list(range(0, 200, 3))
    later = [(int(message.value()), message.headers()) for message in read(reader, 133)]
    assert now_ms() >= first + 200
    # Each due time in the order of the partition, and headers as they were sent
    assert [number for number, _ in later] == [*range(1, 200, 3), *range(2, 200, 3)]
    assert [headers for _, headers in later] == [
        [("deliver-at", str(first + 200 * (number % 3 - 1)).encode())] for number, _ in later
    ]


def test_invalid_delay_fails_only_its_batch(delayed, producer, send, everything):
    called = delayed()
    one = producer(linger_ms=0)
    with pytest.raises(KafkaException) as refused:
        send(one, called, [b"bad"], headers=[("deliver-after", b"soon")])
    assert refused.value.args[0].code() == KafkaError.INVALID_RECORD
    (message,) = send(one, called, [b"good"], headers=[("deliver-after", b"PT0S")])
    assert message.offset() == 0
    assert everything(called) == [b"good"]


def test_topic_without_the_setting_ignores_delay_headers(delayed, topic, producer, send, everything):
    delayed()
    called = topic()
    (message,) = send(producer(), called, [b"v"], headers=[("deliver-after", b"PT1H")])
    assert message.offset() == 0
    assert everything(called) == [b"v"]
