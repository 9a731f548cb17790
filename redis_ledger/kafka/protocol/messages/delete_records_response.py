"""Made by `make generate` from Apache Kafka's DeleteRecordsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_iqh = struct.Struct(">iqh").pack
_p_iqhx = struct.Struct(">iqhx").pack


class DeleteRecordsPartitionResult(Struct, gc=False):
    """Each partition that we wanted to delete records from."""

    partition_index: int = 0  # The partition index.
    low_watermark: int = 0  # The partition low water mark.
    error_code: int = 0  # The deletion error code, or 0 if the deletion succeeded.


class DeleteRecordsTopicResult(Struct, gc=False):
    """Each topic that we wanted to delete records from."""

    name: str = ""  # The topic name.
    partitions: list[DeleteRecordsPartitionResult] = []  # Each partition that we wanted to delete records from.


class DeleteRecordsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[DeleteRecordsTopicResult] = []  # Each topic that we wanted to delete records from.


def encode_0(message: DeleteRecordsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
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
            out += _p_iqh(one_2.partition_index, one_2.low_watermark, one_2.error_code)
    return out


def encode_2(message: DeleteRecordsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
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
            out += _p_iqhx(one_2.partition_index, one_2.low_watermark, one_2.error_code)
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DeleteRecordsResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
}
