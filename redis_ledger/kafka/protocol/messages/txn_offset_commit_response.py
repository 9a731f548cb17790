"""Made by `make generate` from Apache Kafka's TxnOffsetCommitResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import NO_UUID, ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_ihx = struct.Struct(">ihx").pack
_p_u = struct.Struct(">16s").pack


class TxnOffsetCommitResponsePartition(Struct, gc=False):
    """The responses for each partition in the topic."""

    partition_index: int = 0  # The partition index.
    error_code: int = 0  # The error code, or 0 if there was no error.


class TxnOffsetCommitResponseTopic(Struct, gc=False):
    """The responses for each topic."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The topic ID.
    partitions: list[TxnOffsetCommitResponsePartition] = []  # The responses for each partition in the topic.


class TxnOffsetCommitResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[TxnOffsetCommitResponseTopic] = []  # The responses for each topic.


def encode_0(message: TxnOffsetCommitResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_ih(one_2.partition_index, one_2.error_code)
    return out


def encode_3(message: TxnOffsetCommitResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 5."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_ihx(one_2.partition_index, one_2.error_code)
        out += b"\0"
    out += b"\0"
    return out


def encode_6(message: TxnOffsetCommitResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        out += _p_u(one.topic_id)
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_ihx(one_2.partition_index, one_2.error_code)
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[TxnOffsetCommitResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_3,
    5: encode_3,
    6: encode_6,
}
