"""Made by `make generate` from Apache Kafka's ListOffsetsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ihqq = struct.Struct(">ihqq").pack
_p_ihqqi = struct.Struct(">ihqqi").pack
_p_ihqqix = struct.Struct(">ihqqix").pack


class ListOffsetsPartitionResponse(Struct, gc=False):
    """Each partition in the response."""

    partition_index: int = 0  # The partition index.
    error_code: int = 0  # The partition error code, or 0 if there was no error.
    timestamp: int = -1  # The timestamp associated with the returned offset.
    offset: int = -1  # The returned offset.
    leader_epoch: int = -1  # The leader epoch associated with the returned offset.


class ListOffsetsTopicResponse(Struct, gc=False):
    """Each topic in the response."""

    name: str = ""  # The topic name.
    partitions: list[ListOffsetsPartitionResponse] = []  # Each partition in the response.


class ListOffsetsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[ListOffsetsTopicResponse] = []  # Each topic in the response.


def encode_1(message: ListOffsetsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
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
            out += _p_ihqq(one_2.partition_index, one_2.error_code, one_2.timestamp, one_2.offset)
    return out


def encode_2(message: ListOffsetsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
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
            out += _p_ihqq(one_2.partition_index, one_2.error_code, one_2.timestamp, one_2.offset)
    return out


def encode_4(message: ListOffsetsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 5."""
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
            out += _p_ihqqi(one_2.partition_index, one_2.error_code, one_2.timestamp, one_2.offset, one_2.leader_epoch)
    return out


def encode_6(message: ListOffsetsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 6 to 10."""
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
            out += _p_ihqqix(one_2.partition_index, one_2.error_code, one_2.timestamp, one_2.offset, one_2.leader_epoch)
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[ListOffsetsResponse]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
    4: encode_4,
    5: encode_4,
    6: encode_6,
    7: encode_6,
    8: encode_6,
    9: encode_6,
    10: encode_6,
}
