"""What a member of a classic group sends in JoinGroup and gets from SyncGroup: the topics that it reads.

    int16 version │ ConsumerProtocolSubscription        metadata
    int16 version │ ConsumerProtocolAssignment          assignment

A member may be newer than this broker.  A later version begins like the latest known one, so it is decoded as that, and
the rest is ignored.  Source: ConsumerProtocol.java of Apache Kafka, "deserializeVersion".
"""

from __future__ import annotations

from collections.abc import Mapping

from redis_ledger.kafka.protocol.messages import consumer_protocol_assignment, consumer_protocol_subscription
from redis_ledger.kafka.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from redis_ledger.kafka.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from redis_ledger.kafka.protocol.primitives import BadFrame, Decoder, Message

CONSUMERS = "consumer"  # the protocol type of such groups
VERSION_BYTES = 2


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises BadFrame."""
    return read(metadata, consumer_protocol_subscription.DECODERS)


def read_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    """Raises BadFrame."""
    return read(assignment, consumer_protocol_assignment.DECODERS)


def topics_of(metadata: bytes, assignment: bytes) -> set[str]:
    """The topics that either names; empty bytes name none.  Raises BadFrame."""
    found = set[str]()
    if metadata:
        subscription = read_subscription(metadata)
        found.update(subscription.topics, (owned.topic for owned in subscription.owned_partitions))
    if assignment:
        found.update(each.topic for each in read_assignment(assignment).assigned_partitions)
    return found


def read(data: bytes, decoders: Mapping[int, Decoder[Message]]) -> Message:
    """Decodes the message after the version.  Raises BadFrame."""
    version = int.from_bytes(data[:VERSION_BYTES], "big", signed=True)
    if len(data) < VERSION_BYTES or version < 0:
        raise BadFrame(f"{len(data)} bytes with version {version}")
    return decoders[min(version, max(decoders))](memoryview(data), VERSION_BYTES)
