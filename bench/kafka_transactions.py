"""One-record transactions over Kafka's protocol, by a client that costs little: prebuilt where possible.

by_produce   transaction.version 2: Produce adds its partition             Produce, EndTxn
by_request   as librdkafka: the partition is added by a request of its own    AddPartitionsToTxn, Produce, EndTxn
"""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any, Literal

from bench.delay.kafka import Connection, connected, frame
from bench.processes import BenchFailed, RunningBroker
from bench.topics import NOW_MS
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from redis_ledger.records.build import encode
from tests.support.kafka_codec import read_response

Protocol = Literal["by_produce", "by_request"]
PRODUCE, INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN = 0, 22, 24, 26
PRODUCE_VERSION = {"by_produce": 12, "by_request": 11}
END_VERSION = {"by_produce": 5, "by_request": 3}
INIT_VERSION, ADD_VERSION = 4, 3
TIMEOUT_MS = 30_000
ROWS = [(None, b"x" * 100, (), NOW_MS)]


class _Producer:
    def __init__(self, connection: Connection, topic: str, partition: int, protocol: Protocol) -> None:
        self._connection, self._topic, self._partition = connection, topic, partition
        self._protocol: Protocol = protocol
        self._name = f"bench-{uuid.uuid4()}"
        self._id = self._epoch = self._sequence = 0
        self._add = b""

    async def init(self) -> None:
        answer = await self._ask(INIT_PRODUCER_ID, INIT_VERSION, InitProducerIdRequest(self._name, TIMEOUT_MS))
        self._id, self._epoch = answer.producer_id, answer.producer_epoch
        topics = [AddPartitionsToTxnTopic(self._topic, [self._partition])]
        self._add = frame(
            ADD_PARTITIONS, ADD_VERSION, AddPartitionsToTxnRequest([], self._name, self._id, self._epoch, topics)
        )

    async def transact(self) -> None:
        if self._protocol == "by_request":
            added = await self._answer(ADD_PARTITIONS, ADD_VERSION, self._add)
            _expect(added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)
        batch = encode(ROWS, producer_id=self._id, epoch=self._epoch, sequence=self._sequence, transactional=True)
        data = [TopicProduceData(name=self._topic, partition_data=[PartitionProduceData(self._partition, batch)])]
        version = PRODUCE_VERSION[self._protocol]
        produced = await self._ask(PRODUCE, version, ProduceRequest(self._name, -1, TIMEOUT_MS, data))
        _expect(produced.responses[0].partition_responses[0].error_code)
        self._sequence += 1
        ended = await self._ask(
            END_TXN, END_VERSION[self._protocol], EndTxnRequest(self._name, self._id, self._epoch, True)
        )
        if self._protocol == "by_produce":
            self._id, self._epoch, self._sequence = ended.producer_id, ended.producer_epoch, 0

    async def _ask(self, key: int, version: int, message: Any) -> Any:
        answer = await self._answer(key, version, frame(key, version, message))
        _expect(getattr(answer, "error_code", 0))
        return answer

    async def _answer(self, key: int, version: int, request: bytes) -> Any:
        return read_response(key, version, (await self._connection.ask(request)).frame)[1]


def _expect(code: int) -> None:
    if code:
        raise BenchFailed(f"A request of a transaction was refused with error {code}.")


async def transacted(served: RunningBroker, topic: str, producers: int, protocol: Protocol, seconds: float) -> int:
    """Closed loop: each producer commits one transaction after the other.  Returns their number."""

    async def repeated(connection: Connection, partition: int) -> int:
        producer, done = _Producer(connection, topic, partition, protocol), 0
        await producer.init()
        until_s = time.perf_counter() + seconds
        while time.perf_counter() < until_s:
            await producer.transact()
            done += 1
        return done

    async with connected(served, producers) as connections:
        return sum(await asyncio.gather(*(repeated(each, 0) for each in connections)))
