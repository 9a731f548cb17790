"""Made by `make generate` from Apache Kafka's DescribeTopicPartitionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_i = struct.Struct(">i").pack
_p_ix = struct.Struct(">ix").pack


def encode_0(message: DescribeTopicPartitionsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += _p_i(message.response_partition_limit)
    cursor = message.cursor
    if cursor is None: out += b"\xff"
    else:
        out += b"\x01"
        topic_name = cursor.topic_name
        data = topic_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ix(cursor.partition_index)
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeTopicPartitionsRequest]] = {
    0: encode_0,
}
