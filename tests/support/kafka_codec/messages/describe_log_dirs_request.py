"""Made by `make generate` from Apache Kafka's DescribeLogDirsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


def encode_1(message: DescribeLogDirsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    topics = message.topics
    if topics is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(topics))
        for one in topics:
            topic = one.topic
            data = topic.encode()
            out += _p_h(len(data))
            out += data
            partitions = one.partitions
            out += _p_i(len(partitions))
            out += pack_array("i", partitions)
    return out


def encode_2(message: DescribeLogDirsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 5."""
    topics = message.topics
    if topics is None: out += b"\0"
    else:
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in topics:
            topic = one.topic
            data = topic.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partitions)
            out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeLogDirsRequest]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
    4: encode_2,
    5: encode_2,
}
