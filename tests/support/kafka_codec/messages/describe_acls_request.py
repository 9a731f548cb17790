"""Made by `make generate` from Apache Kafka's DescribeAclsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_acls_request import DescribeAclsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_bb = struct.Struct(">bb").pack
_p_bbx = struct.Struct(">bbx").pack
_p_h = struct.Struct(">h").pack


def encode_1(message: DescribeAclsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_b(message.resource_type_filter)
    resource_name_filter = message.resource_name_filter
    if resource_name_filter is None: out += b"\xff\xff"
    else:
        data = resource_name_filter.encode()
        out += _p_h(len(data))
        out += data
    out += _p_b(message.pattern_type_filter)
    principal_filter = message.principal_filter
    if principal_filter is None: out += b"\xff\xff"
    else:
        data = principal_filter.encode()
        out += _p_h(len(data))
        out += data
    host_filter = message.host_filter
    if host_filter is None: out += b"\xff\xff"
    else:
        data = host_filter.encode()
        out += _p_h(len(data))
        out += data
    out += _p_bb(message.operation, message.permission_type)
    return out


def encode_2(message: DescribeAclsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    out += _p_b(message.resource_type_filter)
    resource_name_filter = message.resource_name_filter
    if resource_name_filter is None: out += b"\0"
    else:
        data = resource_name_filter.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_b(message.pattern_type_filter)
    principal_filter = message.principal_filter
    if principal_filter is None: out += b"\0"
    else:
        data = principal_filter.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    host_filter = message.host_filter
    if host_filter is None: out += b"\0"
    else:
        data = host_filter.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_bbx(message.operation, message.permission_type)
    return out


ENCODERS: dict[int, Encoder[DescribeAclsRequest]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
}
