"""The metadata of a classic group's member in JoinGroup: the topics to which it is subscribed.

    int16 version │ ConsumerProtocolSubscription

A member may be newer than this broker.  A later version begins like the latest known one, so it is decoded as that, and
the rest is ignored.  Source: ConsumerProtocol.java of Apache Kafka, "deserializeVersion".
"""

from __future__ import annotations

from collections.abc import Mapping

from redis_ledger.kafka.protocol.messages import consumer_protocol_subscription
from redis_ledger.kafka.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from redis_ledger.kafka.protocol.primitives import BadFrame, Decoder, Message

VERSION_BYTES = 2


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises BadFrame."""
    return read(metadata, consumer_protocol_subscription.DECODERS)


def read(data: bytes, decoders: Mapping[int, Decoder[Message]]) -> Message:
    """Decodes the message after the version.  Raises BadFrame."""
    version = int.from_bytes(data[:VERSION_BYTES], "big", signed=True)
    if len(data) < VERSION_BYTES or version < 0:
        raise BadFrame(f"{len(data)} bytes with version {version}")
    return decoders[min(version, max(decoders))](memoryview(data), VERSION_BYTES)
