"""Made by `make generate` from Apache Kafka's DescribeClusterRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_cluster_request import DescribeClusterRequest
from redis_ledger.kafka.protocol.primitives import Buffer, Encoder

_p_obox = struct.Struct(">?b?x").pack
_p_obx = struct.Struct(">?bx").pack
_p_ox = struct.Struct(">?x").pack


def encode_0(message: DescribeClusterRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_ox(message.include_cluster_authorized_operations)
    return out


def encode_1(message: DescribeClusterRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_obx(message.include_cluster_authorized_operations, message.endpoint_type)
    return out


def encode_2(message: DescribeClusterRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    out += _p_obox(message.include_cluster_authorized_operations, message.endpoint_type, message.include_fenced_brokers)
    return out


ENCODERS: dict[int, Encoder[DescribeClusterRequest]] = {
    0: encode_0,
    1: encode_1,
    2: encode_2,
}
