"""Encodes and decodes the stored members of a consumer group (KIP-848).

Every member gets a new session, because its heartbeats went to a dead broker, and members that must revoke partitions
get their full rebalance timeout. Source: proto/redis_ledger/v1/group.proto; Kafka's ConsumerGroup*Value records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from math import inf

from google.protobuf.message import DecodeError

from redis_ledger.groups.assignors import Slice
from redis_ledger.groups.consumer_member import Consumer
from redis_ledger.groups.reconcile import MemberAssignment, Phase
from redis_ledger.groups.subscribed_topics import MemberSubscription
from redis_ledger.proto import group_pb2 as pb
from redis_ledger.telemetry.logs import get

VERSION = 1
MEMBERSHIP = pb.ConsumerGroup(version=VERSION).SerializeToString()
PHASES = {
    Phase.STABLE: pb.CONSUMER_PHASE_STABLE,
    Phase.UNREVOKED: pb.CONSUMER_PHASE_UNREVOKED,
    Phase.UNRELEASED: pb.CONSUMER_PHASE_UNRELEASED,
}
PHASE_OF = {number: phase for phase, number in PHASES.items()}
_log = get()


def encode_member(member: Consumer) -> bytes:
    subscription, at = member.subscription, member.at
    sender: Iterable[str] = subscription.who if isinstance(subscription.who, tuple) else ()
    return pb.ConsumerMember(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        rebalance_ms=member.rebalance_ms,
        topics=sorted(subscription.names),
        regex=subscription.regex,
        regex_sender=sender,
        assignor=member.assignor,
        client_id=member.client_id,
        client_host=member.client_host,
        epoch=at.epoch,
        epoch_before=member.epoch_before,
        epoch_joined=member.epoch_joined,
        phase=PHASES[at.phase],
        assigned=_encode(at.assigned),
        revoking=_encode(at.revoking),
        target=_encode(member.target),
    ).SerializeToString()


def resume(
    name: str,
    membership: bytes,
    rows: Mapping[str, bytes],
    session_ms: int,
    now: float,
    sender: Callable[[tuple[str, ...]], Hashable] = tuple,
) -> list[Consumer]:
    """The stored members, or none if they cannot be decoded: they rejoin then.

    sender: makes a wish's `who` of the strings that it was stored as
    """
    try:
        if pb.ConsumerGroup.FromString(membership).version != VERSION:
            return []
        members = [_decode(member_id, rows[member_id], sender) for member_id in sorted(rows)]
    except (DecodeError, KeyError) as error:
        _log.error("the stored members of a consumer group cannot be decoded; they must rejoin", group=name,
                   error=str(error))  # fmt: skip
        return []
    for member in members:
        member.session_until = now + session_ms
        if member.at.phase is Phase.UNREVOKED:
            member.revoke_until = now + member.rebalance_ms
    return members


def _decode(member_id: str, row: bytes, sender: Callable[[tuple[str, ...]], Hashable]) -> Consumer:
    stored = pb.ConsumerMember.FromString(row)
    who = sender(tuple(stored.regex_sender)) if stored.regex_sender else None
    return Consumer(
        member_id,
        instance_id=stored.instance_id if stored.HasField("instance_id") else None,
        rack_id=stored.rack_id if stored.HasField("rack_id") else None,
        rebalance_ms=stored.rebalance_ms,
        subscription=MemberSubscription(frozenset(stored.topics), stored.regex, who),
        assignor=stored.assignor if stored.HasField("assignor") else None,
        client_id=stored.client_id,
        client_host=stored.client_host,
        session_until=inf,
        at=MemberAssignment(stored.epoch, PHASE_OF[stored.phase], _slices(stored.assigned), _slices(stored.revoking)),
        epoch_before=stored.epoch_before,
        epoch_joined=stored.epoch_joined,
        target=_slices(stored.target),
    )


def _encode(slices: frozenset[Slice]) -> list[pb.TopicPartitions]:
    by_topic: dict[bytes, list[int]] = defaultdict(list)
    for topic_id, number in sorted(slices):
        by_topic[topic_id].append(number)
    return [pb.TopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in by_topic.items()]


def _slices(stored: Iterable[pb.TopicPartitions]) -> frozenset[Slice]:
    return frozenset((topic.topic_id, number) for topic in stored for number in topic.partitions)
