"""A client with nothing to hide, served beside the others: a small transaction, over and over, checked byte for byte.

    records in a transaction ─▶ offset of a group in it ─▶ commit, every fourth time abort ─▶ read committed ─▶
    group's offset

classic is the protocol of older clients (partitions and groups are added beforehand), modern that of KIP-890.  Its
topic, group and transactional id are its own; other clients can name them only by accident.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from random import Random
from typing import Any

from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.kafka.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from redis_ledger.kafka.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from redis_ledger.records.batch import split
from redis_ledger.records.build import encode
from tests.support.kafka_client import KafkaClient

MEDIAN_S_MAX, WORST_S_MAX = 2.0, 10.0
PAUSE_S = 0.02
TIMEOUT_MS = 20_000
LATEST = -1
PRODUCE = {False: (3, 7, 8, 9, 11), True: (12,)}
FETCH = (4, 7, 11, 12)
PLACED_BYTES = 16  # the broker's own: base offset, length and leader epoch


class HonestFailed(Exception):
    """An honest client got something other than expected."""


def expect(what: str, got: object, wanted: object) -> None:
    if got != wanted:
        raise HonestFailed(f"{what}: {str(got)[:300]}, not {str(wanted)[:300]}")


class Honest:
    """took_s: of each round trip.  round: the number of the one under way."""

    def __init__(self, address: tuple[str, int], name: str, *, modern: bool, timeout_ms: int = TIMEOUT_MS) -> None:
        self.address, self.topic, self.modern = address, name, modern
        self.group, self.transactional_id = f"{name}-group", f"{name}-txn"
        self._timeout_ms = timeout_ms
        self.took_s: list[float] = []
        self.round = 0
        self._random = Random(name)
        self._pid = self._epoch = -1
        self._sequence = 0
        self._at = 0  # where the next committed read begins
        self._held = -1  # the group's offset

    async def run(self, until: Callable[[], bool]) -> None:
        """Runs rounds until stopped; a broken connection counts as a failure.  Raises HonestFailed."""
        try:
            async with KafkaClient(self.address, "honest") as client:
                await self.start(client)
                while not until():
                    began = time.monotonic()
                    try:
                        await self.one_round(client)
                        self.took_s.append(time.monotonic() - began)
                    except HonestFailed:
                        if time.monotonic() - began < self._timeout_ms / 1000:
                            raise
                        await self._begin_anew(client)  # on a busy machine: its transaction has timed out
                    await asyncio.sleep(PAUSE_S)
        except (OSError, EOFError, TimeoutError) as error:
            raise HonestFailed(f"round {self.round}: {type(error).__name__} {error}") from error

    def verdict(self) -> str | None:
        """Describes a round trip time over its limit; None if all are within."""
        if not self.took_s:
            return "no round trip was finished"
        if (median := statistics.median(self.took_s)) > MEDIAN_S_MAX:
            return f"the median round trip took {median:.2f} s"
        if (worst := max(self.took_s)) > WORST_S_MAX:
            return f"the worst round trip took {worst:.2f} s"
        return None

    # -- one transaction ---------------------------------------------------------------------------------------------

    async def start(self, client: KafkaClient) -> None:
        made = await client.ask(CreateTopicsRequest([CreatableTopic(self.topic, 1, 1)]), 7)
        expect("creating its topic", made.topics[0].error_code, 0)
        answer = await client.ask(InitProducerIdRequest(self.transactional_id, self._timeout_ms), 4)
        expect("InitProducerId", answer.error_code, 0)
        self._pid, self._epoch = answer.producer_id, answer.producer_epoch

    async def _begin_anew(self, client: KafkaClient) -> None:
        answer = await client.ask(InitProducerIdRequest(self.transactional_id, self._timeout_ms), 4)
        expect("InitProducerId", answer.error_code, 0)
        self._pid, self._epoch, self._sequence = answer.producer_id, answer.producer_epoch, 0
        asked = [ListOffsetsTopic(self.topic, [ListOffsetsPartition(0, -1, LATEST)])]
        end = (await client.ask(ListOffsetsRequest(-1, 0, asked, 10_000), 7)).topics[0].partitions[0]
        expect("ListOffsets", end.error_code, 0)
        self._at = end.offset

    async def one_round(self, client: KafkaClient) -> None:
        self.round += 1
        commit = self.round % 4 != 0
        sent = self._batch()
        await self._send(client, sent)
        await self._send_offset(client)
        await self._end(client, commit)
        await self._read(client, sent, commit)
        self._held = self.round if commit else self._held
        await self._read_offset(client)

    def _batch(self) -> bytes:
        rows = [
            (
                b"%d" % self.round,
                self._random.randbytes(self._random.randrange(1_000)),
                (),
                1_700_000_000_000 + self.round,
            )
            for _ in range(self._random.randint(1, 3))
        ]
        sent = encode(
            rows, producer_id=self._pid, epoch=self._epoch, sequence=self._sequence, transactional=True,
            compression=self.round % 5,
        )  # fmt: skip
        self._sequence += len(rows)
        return sent

    async def _send(self, client: KafkaClient, sent: bytes) -> None:
        who = (self.transactional_id, self._pid, self._epoch)
        if not self.modern:
            added = await client.ask(AddPartitionsToTxnRequest([], *who, [AddPartitionsToTxnTopic(self.topic, [0])]), 3)
            code = added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            expect("AddPartitionsToTxn", code, 0)
        data = [TopicProduceData(self.topic, partition_data=[PartitionProduceData(0, sent)])]
        versions = PRODUCE[self.modern]
        answer = await client.ask(
            ProduceRequest(self.transactional_id, -1, 10_000, data), versions[self.round % len(versions)]
        )
        expect("Produce", answer.responses[0].partition_responses[0].error_code, 0)

    async def _send_offset(self, client: KafkaClient) -> None:
        if not self.modern:
            who = (self.transactional_id, self._pid, self._epoch)
            expect("AddOffsetsToTxn", (await client.ask(AddOffsetsToTxnRequest(*who, self.group), 3)).error_code, 0)
        topic = TxnOffsetCommitRequestTopic(
            self.topic, partitions=[TxnOffsetCommitRequestPartition(0, self.round, -1, f"m{self.round}")]
        )
        asked = TxnOffsetCommitRequest(self.transactional_id, self.group, self._pid, self._epoch, topics=[topic])
        answer = await client.ask(asked, 5 if self.modern else 3)
        expect("TxnOffsetCommit", answer.topics[0].partitions[0].error_code, 0)

    async def _end(self, client: KafkaClient, commit: bool) -> None:
        asked = EndTxnRequest(self.transactional_id, self._pid, self._epoch, commit)
        answer = await client.ask(asked, 5 if self.modern else 3)
        expect("EndTxn", answer.error_code, 0)
        if self.modern:
            self._pid, self._epoch, self._sequence = answer.producer_id, answer.producer_epoch, 0

    async def _read(self, client: KafkaClient, sent: bytes, commit: bool) -> None:
        partition = FetchPartition(0, fetch_offset=self._at, partition_max_bytes=1 << 20)
        answer = await client.ask(
            FetchRequest(
                max_wait_ms=2_000,
                min_bytes=1,
                isolation_level=1,
                topics=[FetchTopic(self.topic, partitions=[partition])],
            ),
            FETCH[self.round % len(FETCH)],
        )
        found = answer.responses[0].partitions[0]
        expect("Fetch", found.error_code, 0)
        expect("the stable offset is the end", found.last_stable_offset, found.high_watermark)
        batches = split(found.records)
        aborted = {(each.producer_id, each.first_offset) for each in found.aborted_transactions or ()}
        expect("aborted transactions", aborted, set() if commit else {(self._pid_of(sent), self._at)})
        expect("batches, without the marker", len(batches), 2)
        expect("the records", bytes(batches[0][1][PLACED_BYTES:]), sent[PLACED_BYTES:])
        expect("their offset", batches[0][0].base_offset, self._at)
        expect("the marker is one", batches[1][0].is_control, True)
        self._at = batches[1][0].last_offset + 1

    def _pid_of(self, sent: bytes) -> int:
        return split(sent)[0][0].producer_id

    async def _read_offset(self, client: KafkaClient) -> None:
        # 7 is the last version that asks for one group, 8 the first for several.
        if self.round % 2:
            topics = [OffsetFetchRequestTopic(self.topic, [0])]
            answer: Any = await client.ask(OffsetFetchRequest(self.group, topics, require_stable=True), 7)
            found = answer.topics[0].partitions[0]
        else:
            several = [OffsetFetchRequestTopics(self.topic, partition_indexes=[0])]
            groups = [OffsetFetchRequestGroup(self.group, topics=several)]
            answer = await client.ask(OffsetFetchRequest(groups=groups, require_stable=True), 8)
            found = answer.groups[0].topics[0].partitions[0]
        wanted = (0, self._held, "" if self._held < 0 else f"m{self._held}")
        expect("the group's offset", (found.error_code, found.committed_offset, found.metadata), wanted)
