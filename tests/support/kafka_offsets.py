"""Requests about a group's offsets over a socket, for tests: members, transactional producers, commits and fetches."""

from __future__ import annotations

from typing import Any

from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from redis_ledger.kafka.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from redis_ledger.kafka.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from redis_ledger.kafka.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from redis_ledger.kafka.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from redis_ledger.kafka.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from redis_ledger.kafka.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.support.kafka_client import KafkaClient
from tests.support.kafka_codec import subscription

Found = dict[tuple[Any, int], tuple[int, int]]  # topic, partition → offset, error code
Member = tuple[str, int]  # its id and generation
Entry = tuple[Any, ...]  # topic or its id, partition, offset, and perhaps leader epoch and metadata


def committing(
    *offsets: Entry, group: str = "g", member: Member = ("", -1), instance: str | None = None
) -> OffsetCommitRequest:
    topics = [OffsetCommitRequestTopic(*named(t), [OffsetCommitRequestPartition(*rest)]) for t, *rest in offsets]
    return OffsetCommitRequest(group, member[1], member[0], instance, -1, topics)


def named(topic: str | bytes) -> tuple[str, bytes]:
    return ("", topic) if isinstance(topic, bytes) else (topic, bytes(16))


async def commit(client: KafkaClient, *offsets: Entry, version: int = 8, **who: Any) -> list[int]:
    """Error codes, in order."""
    answer = await client.ask(committing(*offsets, **who), version)
    return [p.error_code for topic in answer.topics for p in topic.partitions]


async def fetch(client: KafkaClient, topics: Any, *, group: str = "g", version: int = 8, stable: bool = False) -> Found:
    """topics: name or id → partitions; None: all there are."""
    if version < 8:
        asked = None if topics is None else [OffsetFetchRequestTopic(*each) for each in topics.items()]
        answer = await client.ask(OffsetFetchRequest(group, asked, [], stable), version)
        assert version < 2 or answer.error_code == 0
    else:
        wanted = None if topics is None else [OffsetFetchRequestTopics(*named(t), p) for t, p in topics.items()]
        asking = OffsetFetchRequest("", [], [OffsetFetchRequestGroup(group, None, -1, wanted)], stable)
        (answer,) = (await client.ask(asking, version)).groups
        assert (answer.group_id, answer.error_code) == (group, 0)
    return {
        (topic.name if version < 10 else topic.topic_id, p.partition_index): (p.committed_offset, p.error_code)
        for topic in answer.topics
        for p in topic.partitions
    }


async def join(
    client: KafkaClient,
    group: str = "g",
    *,
    wants: tuple[str, ...] | None = ("t",),
    protocol_type: str = "consumer",
    member_id: str = "",
) -> Member:
    """The one member of a group whose generation has just begun.  wants None: a subscription that cannot be decoded."""
    metadata = subscription(1, ConsumerProtocolSubscription(list(wants))) if wants is not None else b"?"
    asked = JoinGroupRequest(
        group, 10_000, 10_000, member_id, None, protocol_type, [JoinGroupRequestProtocol("range", metadata)]
    )
    answer = await client.ask(asked, 9)
    if answer.member_id and not member_id and answer.error_code:
        return await join(client, group, wants=wants, protocol_type=protocol_type, member_id=answer.member_id)
    assert answer.error_code == 0
    return answer.member_id, answer.generation_id


async def sync(client: KafkaClient, member: Member, group: str = "g", protocol_type: str = "consumer") -> Member:
    given = [SyncGroupRequestAssignment(member[0], b"")]
    asked = SyncGroupRequest(group, member[1], member[0], None, protocol_type, "range", given)
    assert (await client.ask(asked, 5)).error_code == 0
    return member


class Producer:
    """A transactional producer of the older protocol (version 4 and below) or of KIP-890."""

    def __init__(self, client: KafkaClient, version: int, name: str = "tx") -> None:
        self.client, self.version, self.name = client, version, name
        self.id, self.epoch = -1, -1

    async def begin(self) -> Producer:
        answer = await self.client.ask(InitProducerIdRequest(self.name, 60_000), 4)
        assert answer.error_code == 0
        self.id, self.epoch = answer.producer_id, answer.producer_epoch
        return self

    async def add_group(self, group: str = "g") -> None:
        if self.version < 5:
            asked = AddOffsetsToTxnRequest(self.name, self.id, self.epoch, group)
            assert (await self.client.ask(asked, 3)).error_code == 0

    def committing(self, *offsets: Entry, group: str = "g", member: Member = ("", -1)) -> TxnOffsetCommitRequest:
        topics = [
            TxnOffsetCommitRequestTopic(*named(t), [TxnOffsetCommitRequestPartition(*rest)]) for t, *rest in offsets
        ]
        return TxnOffsetCommitRequest(self.name, group, self.id, self.epoch, member[1], member[0], None, topics)

    async def commit(self, *offsets: Entry, group: str = "g", member: Member = ("", -1)) -> list[int]:
        """Error codes, in order."""
        answer = await self.client.ask(self.committing(*offsets, group=group, member=member), self.version)
        return [p.error_code for topic in answer.topics for p in topic.partitions]

    async def end(self, commit: bool = True) -> None:
        version = 5 if self.version >= 5 else 3
        answer = await self.client.ask(EndTxnRequest(self.name, self.id, self.epoch, commit), version)
        assert answer.error_code == 0
        if version >= 5:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch


async def delete(client: KafkaClient, topics: dict[str, list[int]], group: str = "g") -> Any:
    """The group's error code, or that of each partition."""
    asked = [
        OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(p) for p in numbers])
        for name, numbers in topics.items()
    ]
    answer = await client.ask(OffsetDeleteRequest(group, asked), 0)
    if answer.error_code:
        return answer.error_code
    return {(topic.name, p.partition_index): p.error_code for topic in answer.topics for p in topic.partitions}
