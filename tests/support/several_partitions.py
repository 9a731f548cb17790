"""Kafka requests about several partitions, each with an outcome of its own.

    answer = await client.ask(produce(places), 9)
    codes(answer)     {("orders", 0): 0, ("orders", 9): 3, ("held", 0): 29}

A place is a topic and a partition.  A request keeps the order of the places: it has one topic entry for each run of
places with the same topic, so a topic may appear several times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

from redis_ledger.kafka.protocol.messages import offset_for_leader_epoch_request as epochs
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.kafka.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from redis_ledger.kafka.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from redis_ledger.kafka.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from redis_ledger.kafka.protocol.primitives import NO_UUID
from tests.support.kafka_batches import batch

Place = tuple[str, int]
T = TypeVar("T")
_TOPICS = ("responses", "topics", "results_by_topic_v3_and_below")
_PARTITIONS = ("partitions", "partition_responses", "results_by_partition")
_NUMBERS = ("index", "partition_index", "partition")
_CODES = ("error_code", "partition_error_code")


def answered(answer: Any) -> Iterator[tuple[Place, Any]]:
    """Every partition of an answer, in its order, with what the answer has about it."""
    if getattr(answer, "groups", None):
        (answer,) = answer.groups
    for topic in _member(answer, _TOPICS):
        for slot in _member(topic, _PARTITIONS):
            yield (_member(topic, ("name", "topic")), _member(slot, _NUMBERS)), slot


def codes(answer: Any) -> dict[Place, int]:
    found = [(place, _member(slot, _CODES)) for place, slot in answered(answer)]
    assert len(dict(found)) == len(found), f"a partition is answered twice: {found}"
    return dict(found)


def _member(message: Any, names: Sequence[str]) -> Any:
    """The member that has one of these names; of several, the one that is not empty."""
    found = [getattr(message, name) for name in names if hasattr(message, name)]
    return next((each for each in found if each), found[0])


def produce(places: Sequence[Place], value: str = "x", acks: int = -1) -> ProduceRequest:
    """One batch for each place, with one record."""
    of = _by_topic(places, lambda number: PartitionProduceData(number, batch(value)))
    return ProduceRequest(None, acks, 5_000, [TopicProduceData(name, partition_data=data) for name, data in of])


def fetch(places: Sequence[Place], offset: int = 0, wait_ms: int = 0, bytes_min: int = 1) -> FetchRequest:
    of = _by_topic(places, lambda number: FetchPartition(number, -1, offset, partition_max_bytes=1 << 20))
    topics = [FetchTopic(name, partitions=asked) for name, asked in of]
    return FetchRequest(
        max_wait_ms=wait_ms, min_bytes=bytes_min, max_bytes=1 << 20, isolation_level=1, session_id=0, session_epoch=-1,
        topics=topics,
    )  # fmt: skip


def list_offsets(places: Sequence[Place], timestamp: int = -1) -> ListOffsetsRequest:
    of = _by_topic(places, lambda number: ListOffsetsPartition(number, -1, timestamp))
    return ListOffsetsRequest(-1, 0, [ListOffsetsTopic(name, asked) for name, asked in of])


def end_of_epoch(places: Sequence[Place]) -> epochs.OffsetForLeaderEpochRequest:
    of = _by_topic(places, lambda number: epochs.OffsetForLeaderPartition(number, -1, 0))
    return epochs.OffsetForLeaderEpochRequest(-1, [epochs.OffsetForLeaderTopic(name, asked) for name, asked in of])


def delete_records(places: Sequence[Place], below: int = -1) -> DeleteRecordsRequest:
    of = _by_topic(places, lambda number: DeleteRecordsPartition(number, below))
    return DeleteRecordsRequest([DeleteRecordsTopic(name, asked) for name, asked in of], 5_000)


def commit_offsets(places: Sequence[Place], offset: int, group: str = "g") -> OffsetCommitRequest:
    of = _by_topic(places, lambda number: OffsetCommitRequestPartition(number, offset))
    return OffsetCommitRequest(
        group, -1, "", topics=[OffsetCommitRequestTopic(name, partitions=asked) for name, asked in of]
    )


def fetch_offsets(places: Sequence[Place], group: str = "g") -> OffsetFetchRequest:
    of = _by_topic(places, lambda number: number)
    topics = [OffsetFetchRequestTopics(name, NO_UUID, asked) for name, asked in of]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=topics)])


def fetch_all_offsets(version: int, group: str = "g") -> OffsetFetchRequest:
    if version < 8:
        return OffsetFetchRequest(group, topics=None)
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None)])


def commit_in_transaction(
    places: Sequence[Place], offset: int, txn: tuple[str, int, int], group: str = "g"
) -> TxnOffsetCommitRequest:
    """txn: transactional id, producer id, epoch."""
    name, producer_id, epoch = txn
    of = _by_topic(places, lambda number: TxnOffsetCommitRequestPartition(number, offset))
    topics = [TxnOffsetCommitRequestTopic(topic, partitions=asked) for topic, asked in of]
    return TxnOffsetCommitRequest(name, group, producer_id, epoch, topics=topics)


def add_to_transaction(places: Sequence[Place], txn: tuple[str, int, int]) -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnTopic(name, asked) for name, asked in _by_topic(places, lambda number: number)]
    return AddPartitionsToTxnRequest([], *txn, topics)


def _by_topic(places: Sequence[Place], entry: Callable[[int], T]) -> list[tuple[str, list[T]]]:
    runs = groupby(places, lambda place: place[0])
    return [(name, [entry(number) for _, number in run]) for name, run in runs]
