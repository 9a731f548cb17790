"""Made by `make generate` from Apache Kafka's OffsetDeleteResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import Buffer, Encoder

_p_h = struct.Struct(">h").pack
_p_hi = struct.Struct(">hi").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack


class OffsetDeleteResponsePartition(Struct, gc=False):
    """The responses for each partition in the topic."""

    partition_index: int = 0  # The partition index.
    error_code: int = 0  # The error code, or 0 if there was no error.


class OffsetDeleteResponseTopic(Struct, gc=False):
    """The responses for each topic."""

    name: str = ""  # The topic name.
    partitions: list[OffsetDeleteResponsePartition] = []  # The responses for each partition in the topic.


class OffsetDeleteResponse(Struct, gc=False):
    error_code: int = 0  # The top-level error code, or 0 if there was no error.
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[OffsetDeleteResponseTopic] = []  # The responses for each topic.


def encode_0(message: OffsetDeleteResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_hi(message.error_code, message.throttle_time_ms)
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


ENCODERS: dict[int, Encoder[OffsetDeleteResponse]] = {
    0: encode_0,
}
