"""A transactional producer of a Kafka client, in the protocol of both transaction versions."""

from __future__ import annotations

from collections.abc import Sequence

from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.produce_response import PartitionProduceResponse
from redis_ledger.records.build import NewRecord, encode
from tests.support.kafka_batches import NOW_MS, produce, produced
from tests.support.kafka_client import KafkaClient

OLD, NEW = 10, 12  # versions of Produce: with AddPartitionsToTxn, and without (KIP-890)


class Transactional:
    """A producer as clients are: one identity, sequences counted by partition."""

    def __init__(self, client: KafkaClient, name: str, version: int) -> None:
        self.client, self.name, self.version = client, name, version
        self.pid = self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}

    async def init(self, timeout_ms: int = 30_000) -> Transactional:
        answer = await self.client.ask(InitProducerIdRequest(self.name, timeout_ms), 4)
        assert answer.error_code == 0
        self.pid, self.epoch = answer.producer_id, answer.producer_epoch
        self.sequences.clear()
        return self

    async def add(self, topic: str, *partitions: int) -> int:
        topics = [AddPartitionsToTxnTopic(topic, list(partitions))]
        answer = await self.client.ask(AddPartitionsToTxnRequest([], self.name, self.pid, self.epoch, topics), 3)
        slot = answer.results_by_topic_v3_and_below[0].results_by_partition[0]
        return int(slot.partition_error_code)

    async def send(self, topic: str, *sent: str, partition: int = 0, add: bool = True) -> int:
        rows = [(None, value.encode(), (), NOW_MS + n) for n, value in enumerate(sent)]
        return (await self.send_rows(topic, rows, partition=partition, add=add)).error_code

    async def send_rows(
        self, topic: str, rows: Sequence[NewRecord], *, partition: int = 0, add: bool = True, compression: int = 0
    ) -> PartitionProduceResponse:
        if self.version == OLD and add:
            assert await self.add(topic, partition) == 0
        sequence = self.sequences.get((topic, partition), 0)
        data = encode(
            rows, compression=compression, producer_id=self.pid, epoch=self.epoch, sequence=sequence, transactional=True
        )
        answer = produced(
            await self.client.ask(produce(topic, data, partition=partition, transactional_id=self.name), self.version)
        )
        if not answer.error_code:
            self.sequences[topic, partition] = sequence + len(rows)
        return answer

    async def end(self, commit: bool = True) -> int:
        version = 5 if self.version == NEW else 3
        answer = await self.client.ask(EndTxnRequest(self.name, self.pid, self.epoch, commit), version)
        if not answer.error_code and version == 5:
            self.pid, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return int(answer.error_code)
