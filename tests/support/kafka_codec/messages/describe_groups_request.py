"""Made by `make generate` from Apache Kafka's DescribeGroupsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_groups_request import DescribeGroupsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_o = struct.Struct(">?").pack
_p_ox = struct.Struct(">?x").pack


def encode_0(message: DescribeGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    return out


def encode_3(message: DescribeGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    out += _p_o(message.include_authorized_operations)
    return out


def encode_5(message: DescribeGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 5 to 6."""
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_ox(message.include_authorized_operations)
    return out


ENCODERS: dict[int, Encoder[DescribeGroupsRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_3,
    5: encode_5,
    6: encode_5,
}
