"""Made by `make generate` from Apache Kafka's ConsumerGroupDescribeRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_ox = struct.Struct(">?x").pack


def encode_0(message: ConsumerGroupDescribeRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    group_ids = message.group_ids
    n = len(group_ids) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in group_ids:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_ox(message.include_authorized_operations)
    return out


ENCODERS: dict[int, Encoder[ConsumerGroupDescribeRequest]] = {
    0: encode_0,
    1: encode_0,
}
