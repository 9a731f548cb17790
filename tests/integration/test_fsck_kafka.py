"""fsck beside Kafka clients: transactions with offsets, an idempotent producer, a group."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition

from redis_ledger.broker.broker import Broker
from redis_ledger.clock import SystemClock
from redis_ledger.fsck.service import Fsck
from tests.support.kafka_client import listening

LOAD_S, LOOKS = 4.0, 3


async def test_nothing_is_found_beside_kafka_clients(broker: Broker):
    async with listening(broker) as (host, port):
        stop, address = asyncio.Event(), f"{host}:{port}"

        async def transactions() -> None:
            async with AIOKafkaProducer(bootstrap_servers=address, transactional_id="job") as producer:
                count = 0
                while not stop.is_set():
                    count += 1
                    await producer.begin_transaction()
                    await producer.send_and_wait("t", b"v" * 100)
                    await producer.send_offsets_to_transaction({TopicPartition("t", 0): count}, "g")
                    await (producer.abort_transaction() if count % 3 == 0 else producer.commit_transaction())

        async def idempotent() -> None:
            async with AIOKafkaProducer(bootstrap_servers=address, enable_idempotence=True) as producer:
                while not stop.is_set():
                    await producer.send_and_wait("t", b"w")

        async def consume() -> None:
            options = {"group_id": "c", "auto_offset_reset": "earliest", "isolation_level": "read_committed"}
            async with AIOKafkaConsumer("t", bootstrap_servers=address, **options) as consumer:
                while not stop.is_set():
                    await consumer.getmany(timeout_ms=100)
                    await consumer.commit()

        tasks = [asyncio.create_task(work()) for work in (transactions, idempotent, consume)]
        try:
            until, looks = asyncio.get_running_loop().time() + LOAD_S, 0
            while asyncio.get_running_loop().time() < until or looks < LOOKS:
                report = await Fsck(broker.store, broker.config, SystemClock()).run()
                assert [(each.kind, each.where, each.item, each.detail) for each in report.left] == []
                looks += 1
        finally:
            stop.set()
            await asyncio.gather(*tasks)
