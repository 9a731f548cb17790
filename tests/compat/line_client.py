# mypy: disable-error-code="import-not-found"
"""A transactional producer of a real Kafka client that takes orders.

    python line_client.py aiokafka|librdkafka HOST:PORT,HOST:PORT TRANSACTIONAL_ID GROUP TOPIC

Orders on stdin, one a line: init | begin | send VALUE PARTITION | offset N | commit | abort.
Answers on stdout: ok | error TEXT.  It runs in the environment of tests/compat.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

REQUEST_MS, TXN_MS, CALL_S_MAX = 10_000, 120_000, 60.0

Orders = dict[str, Callable[..., Any]]


async def aiokafka(servers: str, name: str, group: str, topic: str) -> Orders:
    from aiokafka import AIOKafkaProducer
    from aiokafka.structs import OffsetAndMetadata, TopicPartition

    producer = AIOKafkaProducer(
        bootstrap_servers=servers.split(","), transactional_id=name, request_timeout_ms=REQUEST_MS,
        transaction_timeout_ms=TXN_MS, metadata_max_age_ms=5_000,
    )  # fmt: skip

    def send(value: str, partition: str) -> Any:
        return producer.send_and_wait(topic, value.encode(), partition=int(partition))

    def offset(number: str) -> Any:
        found = {TopicPartition(topic, 0): OffsetAndMetadata(int(number), "")}
        return producer.send_offsets_to_transaction(found, group)

    return {
        "init": producer.start, "begin": producer.begin_transaction, "send": send, "offset": offset,
        "commit": producer.commit_transaction, "abort": producer.abort_transaction,
    }  # fmt: skip


async def librdkafka(servers: str, name: str, group: str, topic: str) -> Orders:
    from confluent_kafka import Consumer, Producer, TopicPartition

    shared = {"bootstrap.servers": servers, "socket.timeout.ms": REQUEST_MS, "log_level": 0}
    producer = Producer({**shared, "transactional.id": name, "transaction.timeout.ms": TXN_MS, "linger.ms": 0})
    consumer = Consumer({**shared, "group.id": group})

    def send(value: str, partition: str) -> None:
        errors: list[Any] = []
        producer.produce(topic, value.encode(), partition=int(partition), on_delivery=lambda e, _: errors.append(e))
        left = producer.flush(CALL_S_MAX)
        if left or errors != [None]:
            raise RuntimeError(f"{left} left, {errors}")

    def offset(number: str) -> None:
        found = [TopicPartition(topic, 0, int(number))]
        producer.send_offsets_to_transaction(found, consumer.consumer_group_metadata(), CALL_S_MAX)

    calls: Orders = {
        "init": lambda: producer.init_transactions(CALL_S_MAX), "begin": producer.begin_transaction, "send": send,
        "offset": offset, "commit": lambda: producer.commit_transaction(CALL_S_MAX),
        "abort": lambda: producer.abort_transaction(CALL_S_MAX),
    }  # fmt: skip
    return {order: lambda *words, call=call: asyncio.to_thread(call, *words) for order, call in calls.items()}


CLIENTS = {"aiokafka": aiokafka, "librdkafka": librdkafka}


async def main(client: str, *arguments: str) -> None:
    orders = await CLIENTS[client](*arguments)
    while line := await asyncio.to_thread(sys.stdin.readline):
        order, *words = line.split()
        try:
            await asyncio.wait_for(orders[order](*words), CALL_S_MAX)
        except Exception as error:  # noqa: BLE001 - it is the answer
            print("error", repr(error).replace("\n", " "), flush=True)
        else:
            print("ok", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
