"""librdkafka as a client, in its own process and environment; prints one line of JSON.

    create HOST:PORT TOPICS --partitions N        until every partition has a leader
    delete HOST:PORT TOPICS
    fill   HOST:PORT TOPIC --records N            all into partition 0
    txn    HOST:PORT TOPIC --producers N          one-record transactions, each producer in a closed loop
    ctp    HOST:PORT INPUT TOPIC                  consume 10, produce 10, send the offsets, commit
    e2e    HOST:PORT TOPIC --per-s N              open loop: produce to consume, from the due time
    stall  HOST:PORT TOPIC --timeout-ms N         how long committed readers get nothing while a transaction is open
    ack    HOST:PORT TOPIC                        waits for a restarting server and times its first acknowledgement

Times are of the monotonic clock, which the bench's process uses, too.  Records have 100 bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
import uuid
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

# Installed in this environment only, not in the project's, where this file is type-checked.
kafka: Any = import_module("confluent_kafka")
admin: Any = import_module("confluent_kafka.admin")

VALUE = b"x" * 100
BATCH = 10
WAIT_S_MAX = 60.0
IN_VAIN_S_MAX = 5.0
COMMIT_EVERY_S = 0.1
Answer = dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=WORK)
    parser.add_argument("bootstrap")
    parser.add_argument("topics", nargs="+")
    for name in ("producers", "partitions", "records", "per-s", "timeout-ms"):
        parser.add_argument(f"--{name}", type=int, default=1)
    for name in ("warm-up-s", "run-s"):
        parser.add_argument(f"--{name}", type=float, default=1.0)
    args = parser.parse_args()
    print(json.dumps(WORK[args.work](args)))
    return 0


# -- topics ------------------------------------------------------------------------------------------------------------


def create(args: argparse.Namespace) -> Answer:
    client = admin.AdminClient({"bootstrap.servers": args.bootstrap})
    for topic in args.topics:
        for future in client.create_topics([admin.NewTopic(topic, args.partitions, 1)], request_timeout=30).values():
            future.result()
    until_s = time.monotonic() + WAIT_S_MAX
    while time.monotonic() < until_s:
        known = client.list_topics(timeout=30).topics
        parts = [part for topic in args.topics if topic in known for part in known[topic].partitions.values()]
        if len(parts) == len(args.topics) * args.partitions and all(part.leader >= 0 for part in parts):
            return {}
        time.sleep(0.02)
    raise TimeoutError("the new topic has no leader yet")


def delete(args: argparse.Namespace) -> Answer:
    client = admin.AdminClient({"bootstrap.servers": args.bootstrap})
    for future in client.delete_topics(args.topics, request_timeout=30).values():
        future.result()
    return {}


def fill(args: argparse.Namespace) -> Answer:
    refused: list[str] = []
    producer = kafka.Producer({"bootstrap.servers": args.bootstrap, "acks": "all", "linger.ms": 5})

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            refused.append(str(error))

    for _ in range(args.records):
        while True:
            try:
                producer.produce(args.topics[0], VALUE, partition=0, on_delivery=delivered)
                break
            except BufferError:  # its queue is full
                producer.poll(0.1)
    left = producer.flush(WAIT_S_MAX)
    assert left + len(refused) == 0, f"{left} records were not sent, {len(refused)} refused: {refused[:1]}"
    return {}


# -- transactions ------------------------------------------------------------------------------------------------------


def txn(args: argparse.Namespace) -> Answer:
    (topic,) = args.topics
    clients = [transactional(args.bootstrap) for _ in range(args.producers)]
    for client in clients:
        client.init_transactions(WAIT_S_MAX)

    def one_record(client: Any, partition: int) -> Callable[[], float | None]:
        def step() -> float | None:
            began_s = time.monotonic()
            client.begin_transaction()
            client.produce(topic, VALUE, partition=partition)
            client.commit_transaction(WAIT_S_MAX)
            return began_s

        return step

    partitions = range(args.producers)
    return in_threads(
        [one_record(client, index % args.partitions) for client, index in zip(clients, partitions, strict=True)], args
    )


def ctp(args: argparse.Namespace) -> Answer:
    source, target = args.topics
    producer = transactional(args.bootstrap)
    producer.init_transactions(WAIT_S_MAX)
    consumer = committed_reader(args.bootstrap)
    consumer.subscribe([source])

    def step() -> float | None:
        taken = consumer.consume(BATCH, timeout=IN_VAIN_S_MAX)
        if len(taken) < BATCH:
            return None
        began_s = time.monotonic()
        producer.begin_transaction()
        for message in taken:
            producer.produce(target, message.value(), partition=0)
        reached = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(reached, consumer.consumer_group_metadata(), WAIT_S_MAX)
        producer.commit_transaction(WAIT_S_MAX)
        return began_s

    try:
        return in_threads([step], args)
    finally:
        consumer.close()


def in_threads(steps: list[Callable[[], float | None]], args: argparse.Namespace) -> Answer:
    """Repeats each step in its own thread, until the time is over or it has no more input (None).

    The first run of each, which connects and joins, is not timed.
    """
    for step in steps:
        assert step() is not None, "there was no input"
    began_s = time.monotonic() + args.warm_up_s
    end_s = began_s + args.run_s
    timed: list[tuple[float, float]] = []
    commits = [len(steps)]
    failures: list[BaseException] = []

    def repeat(step: Callable[[], float | None]) -> None:
        own, count = [], 0
        try:
            while time.monotonic() < end_s and (start_s := step()) is not None:
                count += 1
                if start_s >= began_s:
                    own.append((start_s, time.monotonic()))
        except Exception as error:  # noqa: BLE001 - the main thread raises it
            failures.append(error)
        timed.extend(own)
        commits.append(count)

    threads = [threading.Thread(target=repeat, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    latencies_ms = sorted(1000 * (done_s - start_s) for start_s, done_s in timed)
    seconds = max(done_s for _, done_s in timed) - began_s
    return {"commits_per_s": len(timed) / seconds, **percentiles(latencies_ms), "commits": sum(commits), "restarts": 0}


# -- latency -----------------------------------------------------------------------------------------------------------


def e2e(args: argparse.Namespace) -> Answer:
    (topic,) = args.topics
    producer = kafka.Producer({"bootstrap.servers": args.bootstrap, "acks": "all", "linger.ms": 0})
    reader = kafka.Consumer({"bootstrap.servers": args.bootstrap, "group.id": topic, "enable.auto.commit": False})
    reader.assign([kafka.TopicPartition(topic, 0, 0)])
    warm_up, count = int(args.warm_up_s * args.per_s), int((args.warm_up_s + args.run_s) * args.per_s)
    producer.produce(topic, VALUE, partition=0)
    assert producer.flush(WAIT_S_MAX) == 0
    received(reader)

    began_s = time.monotonic() + 0.1

    def produce_on_time() -> None:
        for index in range(count):
            due_s = began_s + index / args.per_s
            if (early_s := due_s - time.monotonic()) > 0:
                time.sleep(early_s)
            producer.produce(topic, VALUE, partition=0)
            producer.poll(0)
        producer.flush(WAIT_S_MAX)

    thread = threading.Thread(target=produce_on_time)
    thread.start()
    latencies_ms = []
    for index in range(count):
        received(reader)
        # One partition keeps the order, so the n-th to arrive is the n-th due.
        latencies_ms.append(1000 * (time.monotonic() - began_s - index / args.per_s))
    thread.join()
    reader.close()
    return percentiles(sorted(latencies_ms[warm_up:]))


# -- outages -----------------------------------------------------------------------------------------------------------


def stall(args: argparse.Namespace) -> Answer:
    """Returns the longest time without a record for a committed reader, while another producer keeps committing."""
    (topic,) = args.topics
    owner = transactional(args.bootstrap, **{"transaction.timeout.ms": args.timeout_ms})
    other = transactional(args.bootstrap)
    reader = committed_reader(args.bootstrap)
    reader.assign([kafka.TopicPartition(topic, 0, 0)])
    for client in (owner, other):
        client.init_transactions(WAIT_S_MAX)
    over = threading.Event()
    committed = [0]

    def commit_all_along() -> None:
        while not over.wait(COMMIT_EVERY_S):
            other.begin_transaction()
            other.produce(topic, VALUE, partition=0)
            other.commit_transaction(WAIT_S_MAX)
            committed[0] += 1

    thread = threading.Thread(target=commit_all_along)
    thread.start()
    try:
        arrived_s = [arrival(reader) for _ in range(5)]
        owner.begin_transaction()
        owner.produce(topic, b"open", partition=0)
        assert owner.flush(WAIT_S_MAX) == 0
        open_since_s = time.monotonic()
        while arrived_s[-1] < open_since_s + args.timeout_ms / 2000:  # until the first record after the stall
            arrived_s.append(arrival(reader))
    finally:
        over.set()
        thread.join()
    while len(arrived_s) < committed[0]:
        arrived_s.append(arrival(reader))
    stalled_s = max(after - before for before, after in pairwise(arrived_s))
    return {"stalled_s": stalled_s, "was_fenced": was_fenced(owner), "delivered": len(arrived_s)}


def arrival(reader: Any) -> float:
    assert received(reader) == VALUE, "a record of the transaction that was left open arrived"
    return time.monotonic()


def was_fenced(owner: Any) -> bool:
    """Its transaction has timed out, so its own commit must fail."""
    try:
        owner.commit_transaction(WAIT_S_MAX)
    except kafka.KafkaException:
        return True
    return False


def ack(args: argparse.Namespace) -> Answer:
    """Prints a line when it has started to produce."""
    delivered: list[str | None] = []
    producer = kafka.Producer(
        {
            "bootstrap.servers": args.bootstrap, "acks": "all", "linger.ms": 0, "message.timeout.ms": 120_000,
            "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50, "retry.backoff.ms": 10,
            "retry.backoff.max.ms": 50, "topic.metadata.refresh.fast.interval.ms": 20, "log_level": 0,
        }
    )  # fmt: skip
    producer.produce(
        args.topics[0], VALUE, partition=0, on_delivery=lambda error, _: delivered.append(error and str(error))
    )
    print("asking", flush=True)
    while not delivered:
        producer.poll(0.01)
    assert delivered == [None], f"it was not delivered: {delivered[0]}"
    return {"acknowledged_s": time.monotonic()}


# -- clients -----------------------------------------------------------------------------------------------------------


def transactional(bootstrap: str, **settings: Any) -> Any:
    name = f"bench-{uuid.uuid4()}"
    return kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 0, **settings})


def committed_reader(bootstrap: str) -> Any:
    """In its own group, from the start."""
    return kafka.Consumer(
        {
            "bootstrap.servers": bootstrap, "group.id": f"bench-{uuid.uuid4()}", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "isolation.level": "read_committed",
        }
    )  # fmt: skip


def received(reader: Any) -> bytes:
    """Returns the value of the next record."""
    message = reader.poll(WAIT_S_MAX)
    if message is None:
        raise TimeoutError(f"no record in {WAIT_S_MAX:.0f} s")
    if message.error():
        raise kafka.KafkaException(message.error())
    value: bytes = message.value()
    return value


def percentiles(ordered_ms: list[float]) -> Answer:
    assert ordered_ms, "nothing was measured"
    last = len(ordered_ms) - 1
    return {f"p{name}_ms": ordered_ms[min(last, int(len(ordered_ms) * part))] for name, part in PARTS}


PARTS = (("50", 0.5), ("99", 0.99), ("99_9", 0.999))
WORK = {
    "create": create,
    "delete": delete,
    "fill": fill,
    "txn": txn,
    "ctp": ctp,
    "e2e": e2e,
    "stall": stall,
    "ack": ack,
}

if __name__ == "__main__":
    sys.exit(main())
