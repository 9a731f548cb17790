"""Members of consumer groups (KIP-848) over a real socket, and the error codes they receive."""

from __future__ import annotations

from typing import Any

from redis_ledger.broker.broker import Broker
from redis_ledger.kafka.protocol.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from redis_ledger.kafka.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
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
from tests.support.broker import eventually
from tests.support.kafka_client import KafkaClient

NOT_COORDINATOR, INVALID_GROUP, INCONSISTENT, UNKNOWN_MEMBER = 16, 24, 23, 25
UNSUPPORTED_VERSION, INVALID_REQUEST, NOT_EMPTY, NOT_FOUND = 35, 42, 68, 69
FENCED_EPOCH, UNRELEASED, UNSUPPORTED_ASSIGNOR, STALE_EPOCH, INVALID_REGEX = 110, 111, 112, 113, 128
Numbers = dict[str, list[int]]


class Member:
    """A consumer as clients are.  owned: topic → partitions it reads, which it reports with every heartbeat."""

    def __init__(
        self, client: KafkaClient, broker: Broker, name: str, *, group: str = "g", instance: str | None = None
    ) -> None:
        self.client, self.broker, self.name, self.group, self.instance = client, broker, name, group, instance
        self.epoch = 0
        self.owned: Numbers = {}
        self.ids: dict[str, bytes] = {}

    async def send(self, epoch: int | None = None, version: int = 1, **more: Any) -> ConsumerGroupHeartbeatResponse:
        asked = {"member_epoch": self.epoch if epoch is None else epoch, "instance_id": self.instance, **more}
        answer = await self.client.ask(ConsumerGroupHeartbeatRequest(self.group, self.name, **asked), version)
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        return answer

    async def join(self, *names: str, **more: Any) -> Numbers:
        self.owned = {}
        asked = {"rebalance_timeout_ms": 60_000, "topic_partitions": [], "subscribed_topic_names": list(names), **more}
        return self.take(await self.send(0, **asked))

    async def beat(self, **more: Any) -> Numbers:
        return self.take(await self.send(topic_partitions=self.reported(), **more))

    def reported(self) -> list[TopicPartitions]:
        return [TopicPartitions(self.ids[name], some) for name, some in self.owned.items()]

    def take(self, answer: ConsumerGroupHeartbeatResponse) -> Numbers:
        """The partitions it reads after the answer."""
        assert (answer.error_code, answer.error_message) == (0, None)
        self.name, self.epoch = answer.member_id or "", answer.member_epoch
        if answer.assignment is not None:
            names = self.broker.consumer_groups._topics.names
            assigned = [(names[topic.topic_id], topic) for topic in answer.assignment.topic_partitions]
            self.ids |= {name: topic.topic_id for name, topic in assigned}
            self.owned = {name: topic.partitions for name, topic in assigned}
        return self.owned

    async def until(self, wanted: Numbers, within_s: float = 10.0) -> None:
        """Then it also has said so."""
        assert await eventually(self.beat, wanted, within_s) == wanted
        await self.beat()

    async def commit(self, offset: int, topic: str = "t", version: int = 9, epoch: int | None = None) -> int:
        return await committed(
            self.client, self.group, self.name, self.epoch if epoch is None else epoch, topic, offset, version
        )

    async def fetch(self, topic: str = "t", epoch: int | None = None) -> tuple[int, list[int]]:
        """Error and committed offset."""
        asked = OffsetFetchRequestGroup(
            self.group, self.name, self.epoch if epoch is None else epoch, [OffsetFetchRequestTopics(topic, b"", [0])]
        )
        (group,) = (await self.client.ask(OffsetFetchRequest(groups=[asked]), 9)).groups
        return group.error_code, [slot.committed_offset for topic in group.topics for slot in topic.partitions]


async def committed(
    client: KafkaClient, group: str, member: str, epoch: int, topic: str, offset: int, version: int
) -> int:
    entry = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, offset)])
    request = OffsetCommitRequest(group, epoch, member, topics=[entry])
    answer = await client.ask(request, version)
    code: int = answer.topics[0].partitions[0].error_code
    return code


def read(*members: Member) -> dict[str, list[int]]:
    """Topic → partitions that are read, one entry per reader."""
    found: dict[str, list[int]] = {}
    for member in members:
        for name, some in member.owned.items():
            found[name] = sorted(found.get(name, []) + some)
    return found
