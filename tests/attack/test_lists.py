"""Requests whose lists are long, or name the same thing again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from redis_ledger.kafka import codec
from redis_ledger.kafka.handlers.metadata import MADE_MAX
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from redis_ledger.kafka.protocol.messages.describe_groups_request import DescribeGroupsRequest
from redis_ledger.kafka.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from redis_ledger.kafka.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from redis_ledger.kafka.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestTopic
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from redis_ledger.kafka.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from redis_ledger.kafka.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from redis_ledger.kafka.protocol.primitives import ELEMENTS_MAX, NO_UUID
from redis_ledger.records.build import encode
from tests.attack.harness import Siege
from tests.support.bombs import NOW_MS
from tests.support.kafka_batches import produce, produced
from tests.support.kafka_client import KafkaClient

INVALID_REQUEST, UNKNOWN_TOPIC = 42, 3
MANY = 40_000  # of each list: of what a request may have in all, a third


def kafka(siege: Siege, work: Callable[[KafkaClient], Awaitable[Any]]) -> tuple[Any, float]:
    """What it returns, and for how long the broker computed meanwhile, also for bystanders."""

    async def run() -> Any:
        async with siege.kafka() as client:
            return await work(client)

    before_s = siege.cpu_s()
    found = asyncio.run(run())
    return found, siege.cpu_s() - before_s


def test_a_partition_named_again_and_again_is_looked_up_by_time_once_or_refused(siege):
    siege.post("/v1/topics", {"name": "times"})
    rows = [(b"k%d" % n, (b'{"order":%d}' % n).ljust(60), (), NOW_MS + n) for n in range(20_000)]
    big = encode(rows, compression=1)
    assert produced(kafka(siege, lambda c: c.ask(produce("times", big), 9))[0]).error_code == 0

    def asked(*partitions: ListOffsetsPartition) -> ListOffsetsRequest:
        return ListOffsetsRequest(-1, 0, [ListOffsetsTopic("times", list(partitions))])

    by_time = ListOffsetsPartition(0, -1, NOW_MS + 10_000)
    answer, _ = kafka(siege, lambda c: c.ask(asked(by_time), 5))
    assert answer.topics[0].partitions[0].offset == 10_000
    answer, cpu_s = kafka(siege, lambda c: c.ask(asked(*[by_time] * 300), 5))
    assert [(p.partition_index, p.error_code) for p in answer.topics[0].partitions] == [(0, INVALID_REQUEST)]
    assert cpu_s < 5
    several = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("times", [by_time])] * 300)
    answer, cpu_s = kafka(siege, lambda c: c.ask(several, 5))
    assert {p.error_code for t in answer.topics for p in t.partitions} == {INVALID_REQUEST}
    assert cpu_s < 5
    siege.check()


def test_a_fetch_of_very_many_unknown_topics_is_refused_from_memory(siege):
    topics = [FetchTopic(f"none-{n}", partitions=[FetchPartition(0, fetch_offset=0)]) for n in range(60_000)]
    request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=topics)
    before = commands(siege)
    answer, cpu_s = kafka(siege, lambda c: c.ask(request, 4, within_s=60))
    assert {p.error_code for t in answer.responses for p in t.partitions} == {UNKNOWN_TOPIC}
    assert len(answer.responses) == 60_000
    assert cpu_s < 20
    assert commands(siege) - before < 2_000
    siege.check()


def test_partitions_beyond_those_of_a_topic_are_refused_from_memory(siege):
    siege.post("/v1/topics", {"name": "narrow"})
    before = commands(siege)
    many = [ListOffsetsPartition(n, -1, -1) for n in range(1, 20_001)]
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("narrow", many)])
    answer, _ = kafka(siege, lambda c: c.ask(request, 5, within_s=60))
    assert {p.error_code for p in answer.topics[0].partitions} == {UNKNOWN_TOPIC}
    numbers = AddPartitionsToTxnTopic("nowhere", list(range(20_000)))
    registers = AddPartitionsToTxnRequest([], "txn", 1, 0, [numbers])
    answer, _ = kafka(siege, lambda c: c.ask(registers, 3, within_s=60))
    assert {p.partition_error_code for t in answer.results_by_topic_v3_and_below for p in t.results_by_partition} == {
        UNKNOWN_TOPIC
    }
    assert commands(siege) - before < 2_000
    siege.check()


def test_offsets_of_very_many_unknown_topics_cost_one_look(siege):
    before = commands(siege)
    topics = [OffsetFetchRequestTopic(f"none-{n}", [0]) for n in range(20_000)]
    answer, _ = kafka(siege, lambda c: c.ask(OffsetFetchRequest("g", topics), 7, within_s=60))
    assert [p.committed_offset for t in answer.topics for p in t.partitions] == [-1] * 20_000
    assert commands(siege) - before < 2_000
    siege.check()


def test_one_metadata_request_makes_a_bounded_number_of_topics(siege):
    topics = [MetadataRequestTopic(name=f"made-{n}") for n in range(2_000)]
    answer, _ = kafka(siege, lambda c: c.ask(MetadataRequest(topics), 9, within_s=60))
    codes = [topic.error_code for topic in answer.topics]
    assert (codes.count(0), codes.count(UNKNOWN_TOPIC)) == (MADE_MAX, 2_000 - MADE_MAX)
    _, listed = siege.ask("GET", "/v1/topics")
    assert sum(topic["name"].startswith("made-") for topic in listed["topics"]) == MADE_MAX
    siege.check()


def test_groups_and_transactions_named_again_are_told_once(siege):
    answer, _ = kafka(siege, lambda c: c.ask(DescribeGroupsRequest(["g"] * 20_000), 5))
    assert [group.group_id for group in answer.groups] == ["g"]
    answer, _ = kafka(siege, lambda c: c.ask(DescribeTransactionsRequest(["t"] * 20_000), 0))
    assert [state.transactional_id for state in answer.transaction_states] == ["t"]
    siege.check()


def _partitions(kind: Callable[..., Any], **fields: Any) -> list[Any]:
    return [kind(n, **fields) for n in range(MANY)]


LONG: dict[str, tuple[Any, int]] = {
    "Produce": (
        ProduceRequest(None, -1, 1_000, [TopicProduceData("none", NO_UUID, _partitions(PartitionProduceData))]), 9,
    ),
    "OffsetCommit": (
        OffsetCommitRequest(
            "g", topics=[OffsetCommitRequestTopic("t", partitions=_partitions(OffsetCommitRequestPartition))]
        ),
        8,
    ),
    "TxnOffsetCommit": (
        TxnOffsetCommitRequest(
            "txn", "g", 1, 0,
            topics=[
                TxnOffsetCommitRequestTopic(f"t{n}", partitions=[TxnOffsetCommitRequestPartition(0)])
                for n in range(MANY)
            ],
        ),
        3,
    ),
    "AddPartitionsToTxn": (
        AddPartitionsToTxnRequest([], "txn", 1, 0, [AddPartitionsToTxnTopic(f"t{n}", [0]) for n in range(MANY)]), 3,
    ),
    "DeleteTopics": (DeleteTopicsRequest([DeleteTopicState(None, n.to_bytes(16)) for n in range(1, MANY)]), 6),
    "Metadata": (MetadataRequest([MetadataRequestTopic(name=f"m{n}") for n in range(MANY)], False), 9),
}  # fmt: skip


@pytest.mark.parametrize("api", LONG)
def test_a_long_list_holds_up_nobody(siege, api):
    request, version = LONG[api]
    answer, cpu_s = kafka(siege, lambda c: c.ask(request, version, within_s=60))
    assert cpu_s < 20
    assert codec.is_long(answer)
    siege.check()
    assert siege.memory_mb() < 400


def test_a_request_with_too_many_elements_gets_an_error_where_the_answer_has_one(siege):
    topics = [MetadataRequestTopic(name="t")] * (ELEMENTS_MAX + 1)
    answer, _ = kafka(siege, lambda c: c.ask(MetadataRequest(topics), 13, within_s=60))
    assert (answer.error_code, answer.topics) == (INVALID_REQUEST, [])
    with pytest.raises((EOFError, ConnectionError)):  # the answer of this version has no place for an error
        kafka(siege, lambda c: c.ask(MetadataRequest(topics), 9, within_s=60))
    siege.check()


def test_markers_named_again_and_again_are_written_once(siege):
    siege.post("/v1/topics", {"name": "marked"})
    before = commands(siege)
    marker = WritableTxnMarker(7, 0, False, [WritableTxnMarkerTopic("marked", [0] * 10)])
    answer, _ = kafka(siege, lambda c: c.ask(WriteTxnMarkersRequest([marker] * 1_000), 1, within_s=60))
    results = [p for m in answer.markers for t in m.topics for p in t.partitions]
    assert len(results) == 10_000
    assert len({each.error_code for each in results}) == 1
    assert commands(siege) - before < 2_000
    siege.check()


def commands(siege: Siege) -> int:
    """That the broker's Redis has carried out."""
    lines = siege.redis.info("stats").decode().splitlines()
    return int(next(line.partition(":")[2] for line in lines if line.startswith("total_commands_processed:")))
