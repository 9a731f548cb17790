"""Made by `make generate` from Apache Kafka's OffsetForLeaderEpochResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_hiiq = struct.Struct(">hiiq").pack
_p_hiiqx = struct.Struct(">hiiqx").pack
_p_i = struct.Struct(">i").pack


class EpochEndOffset(Struct, gc=False):
    """Each partition in the topic we fetched offsets for."""

    error_code: int = 0  # The error code 0, or if there was no error.
    partition: int = 0  # The partition index.
    leader_epoch: int = -1  # The leader epoch of the partition.
    end_offset: int = -1  # The end offset of the epoch.


class OffsetForLeaderTopicResult(Struct, gc=False):
    """Each topic we fetched offsets for."""

    topic: str = ""  # The topic name.
    partitions: list[EpochEndOffset] = []  # Each partition in the topic we fetched offsets for.


class OffsetForLeaderEpochResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[OffsetForLeaderTopicResult] = []  # Each topic we fetched offsets for.


def encode_2(message: OffsetForLeaderEpochResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    out += _p_i(message.throttle_time_ms)
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
            out += _p_hiiq(one_2.error_code, one_2.partition, one_2.leader_epoch, one_2.end_offset)
    return out


def encode_4(message: OffsetForLeaderEpochResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        topic = one.topic
        data = topic.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_hiiqx(one_2.error_code, one_2.partition, one_2.leader_epoch, one_2.end_offset)
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[OffsetForLeaderEpochResponse]] = {
    2: encode_2,
    3: encode_2,
    4: encode_4,
}
