# mypy: disable-error-code="import-not-found"
"""A client that uses confluent-kafka; it runs in the environment of tests/compat, not in the project's.

    python -m tests.sim.clients.librdkafka SEED NAME HOST:PORT,HOST:PORT LIFE SUFFIX

Prints events as lines of JSON.  It stops at the end of stdin.  LIFE counts the starts of the client.  SUFFIX ends
the names of its topics.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.sim.recorder import Event, Recorder

PARTITIONS, PAUSE_S, CALL_S_MAX, TXN_TIMEOUT_MS = 3, 0.15, 15.0, 6_000
PLAIN, TXN, INPUT, OUTPUT, DENSE = "plain", "txn", "in", "out.rdk", "dense"
GROUP = "rdk"
IDS_OF_A_LIFE = 1_000_000
# A fatal error of a producer is raised in whatever call comes next; while callbacks run, it becomes a SystemError.
FATAL = (KafkaException, SystemError)


class Context(NamedTuple):
    name: str
    recorder: Recorder
    chance: random.Random
    kafka: str
    life: str
    stopped: threading.Event
    suffix: str

    def topic(self, name: str) -> str:
        return f"{name}{self.suffix}"

    def rounds(self, pause_s: float = PAUSE_S) -> Iterator[int]:
        number = 0
        while not self.stopped.is_set():
            yield number
            number += 1
            self.stopped.wait(self.chance.uniform(0.3, 1.7) * pause_s)


class Values:
    def __init__(self, writer: str, chance: random.Random) -> None:
        self.writer, self._chance, self._last = writer, chance, 0

    def some(self, most: int) -> list[list[Any]]:
        return [self._one() for _ in range(self._chance.randint(1, most))]

    def _one(self) -> list[Any]:
        self._last += 1
        return [self._chance.randrange(PARTITIONS), f"{self.writer}-{self._last}"]

    def of(self, source: str) -> str:
        self._last += 1
        return f"{source}>{self.writer}-{self._last}"


class Sending:
    """Records of one call; `positions` has those that were acknowledged."""

    def __init__(self, producer: Producer, topic: str, some: list[list[Any]]) -> None:
        self.positions: list[list[Any]] = []
        self.error: Any = None
        self.left = len(some)
        try:
            for partition, value in some:
                producer.produce(topic, value.encode(), partition=partition, on_delivery=self._delivered)
            self.left = producer.flush(CALL_S_MAX)
        except FATAL as error:
            self.error = error

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.error = error
        elif message.offset() is not None:  # None: -1, of a transaction in the sidecar buffer
            self.positions.append([message.partition(), message.offset(), message.value().decode()])

    @property
    def is_complete(self) -> bool:
        return not self.left and self.error is None


def conf(context: Context) -> dict[str, Any]:
    return {
        "bootstrap.servers": context.kafka, "topic.metadata.refresh.interval.ms": 5_000, "log_level": 0,
        "socket.timeout.ms": 4_000, "reconnect.backoff.max.ms": 1_000,
    }  # fmt: skip


def produce(context: Context) -> None:
    life, producer, values = 0, None, Values(context.name, context.chance)
    for _ in context.rounds():
        if producer is None:
            life += 1
            values = Values(f"{context.name}.{context.life}.{life}", context.chance)
            settings = {"enable.idempotence": True, "linger.ms": 1, "message.timeout.ms": 12_000}
            producer = Producer({**conf(context), **settings})
        some = values.some(8)
        op = context.recorder.invoke(
            "send", topic=context.topic(PLAIN), records=some, writer=values.writer, mode="idempotent"
        )
        sending = Sending(producer, context.topic(PLAIN), some)
        if sending.is_complete:
            context.recorder.ok("send", op, positions=sending.positions)
            continue
        context.recorder.info("send", op, sending.error or "not answered")
        producer.purge()
        producer = None


def transactional(context: Context, life: int) -> tuple[Producer | None, Values]:
    values = Values(f"{context.name}.{context.life}.{life}", context.chance)
    settings = {"transactional.id": context.name, "transaction.timeout.ms": TXN_TIMEOUT_MS, "linger.ms": 1}
    producer = Producer({**conf(context), **settings})
    op = context.recorder.invoke("init", transactional_id=context.name, writer=values.writer)
    try:
        producer.init_transactions(CALL_S_MAX)
    except FATAL as error:
        context.recorder.info("init", op, error)
        return None, values
    context.recorder.ok("init", op)
    return producer, values


def end(context: Context, producer: Producer, name: str, verdict: str) -> bool:
    """Returns whether the producer can go on."""
    op = context.recorder.invoke("end", txn=name, verdict=verdict)
    for _ in range(4):
        try:
            (producer.commit_transaction if verdict == "commit" else producer.abort_transaction)(CALL_S_MAX)
        except SystemError as failed:
            context.recorder.info("end", op, failed)
            return False
        except KafkaException as failed:
            error = failed.args[0]
            if error.retriable():
                continue
            context.recorder.info("end", op, error)
            return verdict == "commit" and error.txn_requires_abort() and end(context, producer, name, "abort")
        context.recorder.ok("end", op, outcome="committed" if verdict == "commit" else "aborted")
        return True
    context.recorder.info("end", op, "not answered")
    return False


def transact(context: Context) -> None:
    _transact(context, TXN, PAUSE_S, 6)


def dense(context: Context) -> None:
    """As many small transactions as the brokers take."""
    _transact(context, DENSE, 0.0, 3)


def _transact(context: Context, topic: str, pause_s: float, records_max: int) -> None:
    life, producer, values = 0, None, Values(context.name, context.chance)
    for number in context.rounds(pause_s):
        if producer is None:
            life += 1
            producer, values = transactional(context, life)
            continue
        name = f"{context.name}#{context.life}.{number}"
        try:
            producer.begin_transaction()
        except FATAL:
            producer = None
            continue
        some = values.some(records_max)
        facts = {
            "topic": context.topic(topic),
            "records": some,
            "writer": values.writer,
            "mode": "idempotent",
            "txn": name,
        }
        op = context.recorder.invoke("send", **facts)
        sending = Sending(producer, context.topic(topic), some)
        if sending.is_complete:
            context.recorder.ok("send", op, positions=sending.positions)
        else:
            context.recorder.info("send", op, sending.error or "not answered")
        verdict = "abort" if not sending.is_complete or context.chance.random() < 0.2 else "commit"
        if not end(context, producer, name, verdict):
            producer = None


def chain(context: Context) -> None:
    """Consumes, transforms and produces as a member of a group: the commit names the generation (KIP-447)."""
    life, pair, values = 0, list[Any](), Values(context.name, context.chance)
    for number in context.rounds(0.05):
        if not pair:
            life += 1
            producer, values = transactional(context, life)
            if producer is not None:
                pair += [producer, _subscribe(context)]
                del producer
            continue
        try:
            goes_on = _link(context, pair[0], pair[1], values, f"{context.name}#{context.life}.{number}")
        except FATAL:
            goes_on = False
        if not goes_on:
            _destroy(context, pair)
    _destroy(context, pair)


def _destroy(context: Context, pair: list[Any]) -> None:
    """It may hang, as the offsets of a transaction: the watchdog (librdkafka_processes.py) kills this process then."""
    op = context.recorder.invoke("destroy")
    for consumer in pair[1:]:
        consumer.close()
    pair.clear()
    context.recorder.ok("destroy", op)


def _subscribe(context: Context) -> Consumer:
    settings = {
        "group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False,
        "isolation.level": "read_committed", "session.timeout.ms": 6_000, "heartbeat.interval.ms": 500,
    }  # fmt: skip
    consumer = Consumer({**conf(context), **settings})
    consumer.subscribe([context.topic(INPUT)])
    return consumer


def _link(context: Context, producer: Producer, consumer: Consumer, values: Values, name: str) -> bool:
    """Returns whether the producer and the consumer can go on."""
    op = context.recorder.invoke("poll", topic=context.topic(INPUT), group=GROUP)
    records = [m for m in consumer.consume(30, 0.5) if m.error() is None]
    context.recorder.ok("poll", op, records=[[m.partition(), m.offset(), m.value().decode()] for m in records])
    if not records:
        return True
    outputs = [[m.partition(), values.of(m.value().decode())] for m in records]
    positions = {m.partition(): m.offset() + 1 for m in records}
    producer.begin_transaction()
    facts = {
        "topic": context.topic(OUTPUT),
        "writer": values.writer,
        "mode": "idempotent",
        "pipeline": "rdk",
        "txn": name,
    }
    sources = [m.value().decode() for m in records]
    send = context.recorder.invoke("send", records=outputs, sources=sources, **facts)
    by_partition = {str(p): offset for p, offset in positions.items()}
    offsets = context.recorder.invoke(
        "offsets", topic=context.topic(INPUT), group=GROUP, positions=by_partition, txn=name
    )
    sending = Sending(producer, context.topic(OUTPUT), outputs)
    try:
        ends = [TopicPartition(context.topic(INPUT), p, offset) for p, offset in positions.items()]
        producer.send_offsets_to_transaction(ends, consumer.consumer_group_metadata(), CALL_S_MAX)
    except FATAL as failed:
        context.recorder.info("send", send, failed)
        context.recorder.info("offsets", offsets, failed)
        end(context, producer, name, "abort")
        return False
    (context.recorder.ok if sending.is_complete else context.recorder.info)(
        "send", send, **({"positions": sending.positions} if sending.is_complete else {"error": str(sending.error)})
    )
    context.recorder.ok("offsets", offsets)
    return end(context, producer, name, "commit" if sending.is_complete else "abort") and sending.is_complete


ROLES: dict[str, Callable[[Context], None]] = {"produce": produce, "transact": transact, "dense": dense, "chain": chain}


def write(event: Event) -> None:
    print(json.dumps(event), flush=True)


def run(context: Context) -> None:
    try:
        ROLES[context.name.split(".")[1]](context)
    except Exception as error:
        context.recorder.note("broke", error=f"{type(error).__name__}: {error}; {error.__cause__!r}")
        raise


def main(seed: str, name: str, kafka: str, life: str, suffix: str) -> None:
    recorder = Recorder(name, write, IDS_OF_A_LIFE * int(life))
    context = Context(name, recorder, random.Random(f"{seed} {name} {life}"), kafka, life, threading.Event(), suffix)
    thread = threading.Thread(target=run, args=(context,))
    thread.start()
    sys.stdin.read()
    context.stopped.set()
    thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
