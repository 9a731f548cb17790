"""Made by `make wire` from Apache Kafka's DescribeClusterRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Buffer, Decoder, Encoder, skip_tags

_oB = struct.Struct(">?B").unpack_from
_obB = struct.Struct(">?bB").unpack_from
_oboB = struct.Struct(">?b?B").unpack_from
_p_obox = struct.Struct(">?b?x").pack
_p_obx = struct.Struct(">?bx").pack
_p_ox = struct.Struct(">?x").pack


class DescribeClusterRequest(Struct, gc=False):
    include_cluster_authorized_operations: bool = False  # Whether to include cluster authorized operations.
    endpoint_type: int = 1  # The endpoint type to describe. 1=brokers, 2=controllers.
    include_fenced_brokers: bool = False  # Whether to include fenced brokers when listing brokers.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClusterRequest:
    """Version 0."""
    end = len(buf)
    try:
        include_cluster_authorized_operations, n = _oB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeClusterRequest(include_cluster_authorized_operations, 1, False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClusterRequest:
    """Version 1."""
    end = len(buf)
    try:
        include_cluster_authorized_operations, endpoint_type, n = _obB(buf, pos); pos += 3
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClusterRequest:
    """Version 2."""
    end = len(buf)
    try:
        include_cluster_authorized_operations, endpoint_type, include_fenced_brokers, n = _oboB(buf, pos); pos += 4
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, include_fenced_brokers)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[DescribeClusterRequest]] = {
    0: decode_0,
    1: decode_1,
    2: decode_2,
}
ENCODERS: dict[int, Encoder[DescribeClusterRequest]] = {
    0: encode_0,
    1: encode_1,
    2: encode_2,
}
