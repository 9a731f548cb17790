"""Made by `make generate` from Apache Kafka's DescribeClusterRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, skip_tags

_oB = struct.Struct(">?B").unpack_from
_obB = struct.Struct(">?bB").unpack_from
_oboB = struct.Struct(">?b?B").unpack_from


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


DECODERS: dict[int, Decoder[DescribeClusterRequest]] = {
    0: decode_0,
    1: decode_1,
    2: decode_2,
}
