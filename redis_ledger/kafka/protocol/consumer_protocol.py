"""What members of a classic group tell each other through JoinGroup and SyncGroup: topics wanted, partitions given.

    int16 version │ ConsumerProtocolSubscription or ConsumerProtocolAssignment

Members may be newer than we are: a later version begins as the last one we know, so it is read as that one and what
follows is not looked at.  Source: ConsumerProtocol.java of Apache Kafka, "deserializeVersion".
"""

from __future__ import annotations

from collections.abc import Mapping

from redis_ledger.kafka.protocol.messages import consumer_protocol_assignment, consumer_protocol_subscription
from redis_ledger.kafka.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from redis_ledger.kafka.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from redis_ledger.kafka.protocol.primitives import BadFrame, Buffer, Decoder, Encoder, Message

VERSION_BYTES = 2


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    return _read(metadata, consumer_protocol_subscription.DECODERS)


def read_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    return _read(assignment, consumer_protocol_assignment.DECODERS)


def subscription(version: int, message: ConsumerProtocolSubscription) -> bytes:
    return _write(version, message, consumer_protocol_subscription.ENCODERS)


def assignment(version: int, message: ConsumerProtocolAssignment) -> bytes:
    return _write(version, message, consumer_protocol_assignment.ENCODERS)


def _read(data: bytes, decoders: Mapping[int, Decoder[Message]]) -> Message:
    version = int.from_bytes(data[:VERSION_BYTES], "big", signed=True)
    if len(data) < VERSION_BYTES or version < 0:
        raise BadFrame(f"{len(data)} bytes that say version {version}")
    return decoders[min(version, max(decoders))](memoryview(data), VERSION_BYTES)


def _write(version: int, message: Message, encoders: Mapping[int, Encoder[Message]]) -> bytes:
    chunks: list[Buffer] = []
    out = encoders[version](message, bytearray(version.to_bytes(VERSION_BYTES, "big")), chunks)
    return bytes(out)
