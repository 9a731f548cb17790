"""Made by `make generate` from Apache Kafka's OffsetForLeaderEpochRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_iii = struct.Struct(">iii").pack
_p_iiix = struct.Struct(">iiix").pack


def encode_2(message: OffsetForLeaderEpochRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iii(one_2.partition, one_2.current_leader_epoch, one_2.leader_epoch)
    return out


def encode_3(message: OffsetForLeaderEpochRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_i(message.replica_id)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iii(one_2.partition, one_2.current_leader_epoch, one_2.leader_epoch)
    return out


def encode_4(message: OffsetForLeaderEpochRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_i(message.replica_id)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        topic = one.topic
        data = topic.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_iiix(one_2.partition, one_2.current_leader_epoch, one_2.leader_epoch)
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[OffsetForLeaderEpochRequest]] = {
    2: encode_2,
    3: encode_3,
    4: encode_4,
}
