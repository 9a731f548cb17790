# mypy: disable-error-code="import-not-found"
"""An application that uses confluent-kafka, in the environment of tests/compat; it ends when its stdin does.

    python librdkafka.py ROLE NAME HOST:PORT,HOST:PORT

Prints what it did as sdk.py does.  Handles errors as Kafka's documentation says, and prints them.
"""

from __future__ import annotations

import faulthandler
import json
import select
import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

PARTITIONS = 4
SESSION_MS = 10_000
SILENT_S = 60.0
WAIT_S = 20.0  # for one step of a transaction; then the worker prints it and repeats the step


# librdkafka may lose the first metadata request that it makes; it asks again after this, and not for minutes otherwise.
COMMON = {"topic.metadata.refresh.interval.ms": 5_000}
PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)  # by an abort
MOVED = (KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS, KafkaError.UNKNOWN_MEMBER_ID)


class Lost(Exception):
    """A producer that cannot go on: a new one of the same id has to."""


def tell(kind: str, **facts: Any) -> None:
    faulthandler.dump_traceback_later(SILENT_S)  # who is silent for so long hangs in a call, and stderr says in which
    print(json.dumps({"at": time.time(), "kind": kind, **facts}), flush=True)


def noted(error: KafkaError) -> None:
    """librdkafka's own events; it goes on by itself unless they are fatal."""
    tell("error" if error.fatal() else "noted", doing="client", text=str(error))


def tell_failure(doing: str, error: KafkaError) -> None:
    """moved: the group was rebalanced, as it may be at any time, and what was read is read again."""
    tell("moved" if error.code() in MOVED else "error", doing=doing, text=str(error))


def is_on() -> bool:
    return not select.select([sys.stdin], [], [], 0)[0]


class Sending:
    """Records handed over, until each was answered."""

    def __init__(self, producer: Producer, doing: str) -> None:
        self._producer, self._doing = producer, doing
        self.failed = 0

    def send(self, topic: str, some: list[tuple[int, str]]) -> None:
        for partition, value in some:
            self._producer.produce(topic, value.encode(), partition=partition, on_delivery=self._told)

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and error.code() not in PURGED:
            self.failed += 1
            tell("error", doing=self._doing, text=f"delivery: {error}")


def values(name: str, first: int, count: int) -> list[tuple[int, str]]:
    return [(number % PARTITIONS, f"{name}-{number}") for number in range(first, first + count)]


def idempotent(name: str, brokers: str) -> None:
    common = {"bootstrap.servers": brokers, "error_cb": noted, **COMMON}
    producer = Producer({"enable.idempotence": True, "linger.ms": 5, **common})
    number = 0
    while is_on():
        some = values(name, number, 20)
        number += 20
        tell("asked", topic="load", values=some)
        sending = Sending(producer, "idempotent")
        sending.send("load", some)
        producer.flush()
        if not sending.failed:
            tell("answered", values=[value for _, value in some], outcome="committed")
        time.sleep(0.05)  # the pace of the load


def transactional_producer(name: str, brokers: str) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": brokers, "transactional.id": name, "transaction.timeout.ms": 30_000, "linger.ms": 5,
            "error_cb": noted, **COMMON,
        }
    )  # fmt: skip
    until_over(producer.init_transactions, "init")
    return producer


def until_over(act: Any, doing: str, *arguments: Any) -> None:
    """Repeats what may be repeated.  Raises KafkaException, or Lost."""
    while True:
        try:
            act(*arguments, WAIT_S)
        except KafkaException as failed:
            error = failed.args[0]
            tell_failure(doing, error)
            if error.fatal():
                raise Lost from failed
            if not error.retriable():
                raise
        else:
            return


def transactional(name: str, brokers: str) -> None:
    producer = transactional_producer(name, brokers)
    number = 0
    while is_on():
        some = values(name, number, 8)
        number += 8
        outcome = "aborted" if number % 32 == 0 else "committed"
        tell("asked", topic="load", values=some, step=number)
        try:
            producer.begin_transaction()
            Sending(producer, "transaction").send("load", some)
            producer.flush()
            end = producer.commit_transaction if outcome == "committed" else producer.abort_transaction
            until_over(end, "end of a transaction")
        except Lost:
            producer = transactional_producer(name, brokers)
            continue
        except KafkaException:
            until_over(producer.abort_transaction, "abort")
            outcome = "aborted"
        tell("answered", values=[value for _, value in some], outcome=outcome)
        time.sleep(0.08)  # the pace of the load


def consumer_of(by: str, brokers: str, **more: Any) -> Consumer:
    conf = {
        "bootstrap.servers": brokers, "group.id": by, "auto.offset.reset": "earliest", "enable.auto.commit": False,
        "isolation.level": "read_committed", "error_cb": noted, **COMMON, **more,
    }  # fmt: skip
    consumer = Consumer(conf)
    consumer.subscribe(["load"])
    return consumer


def got(by: str, consumer: Consumer) -> list[Message]:
    """The messages that are records; prints errors."""
    records = []
    for message in consumer.consume(100, 0.3):
        if message.error() is None:
            records.append(message)
        else:
            tell("error", doing=f"group {by}", text=str(message.error()))
    if records:
        shown = [(each.partition(), each.offset(), each.value().decode()) for each in records]
        tell("got", topic="load", by=by, records=shown)
    return records


def ends(records: list[Message]) -> dict[int, int]:
    return {each.partition(): each.offset() + 1 for each in records}


def group(by: str, brokers: str, **more: Any) -> None:
    """Commits what it got."""
    consumer = consumer_of(by, brokers, **more)
    while is_on():
        records = got(by, consumer)
        if not records:
            continue
        positions = ends(records)
        try:
            consumer.commit(offsets=[TopicPartition("load", *each) for each in positions.items()], asynchronous=False)
        except KafkaException as failed:
            tell_failure(f"commit of {by}", failed.args[0])
        else:
            tell("position", topic="load", by=by, positions=positions)
    consumer.close()


def classic(name: str, brokers: str) -> None:
    group("classic", brokers, **{"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 500})


def modern(name: str, brokers: str) -> None:
    group("modern", brokers, **{"group.protocol": "consumer"})


ROLES = {"idempotent": idempotent, "transactional": transactional, "classic": classic, "modern": modern}

if __name__ == "__main__":
    try:
        ROLES[sys.argv[1]](*sys.argv[2:])
    except Exception as error:
        tell("error", doing="everything", text=f"{type(error).__name__}: {error}")
        raise
    tell("end")
