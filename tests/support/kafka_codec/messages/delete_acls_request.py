"""Made by `make generate` from Apache Kafka's DeleteAclsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.delete_acls_request import DeleteAclsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_bb = struct.Struct(">bb").pack
_p_bbx = struct.Struct(">bbx").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


def encode_1(message: DeleteAclsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    filters = message.filters
    out += _p_i(len(filters))
    for one in filters:
        out += _p_b(one.resource_type_filter)
        resource_name_filter = one.resource_name_filter
        if resource_name_filter is None: out += b"\xff\xff"
        else:
            data = resource_name_filter.encode()
            out += _p_h(len(data))
            out += data
        out += _p_b(one.pattern_type_filter)
        principal_filter = one.principal_filter
        if principal_filter is None: out += b"\xff\xff"
        else:
            data = principal_filter.encode()
            out += _p_h(len(data))
            out += data
        host_filter = one.host_filter
        if host_filter is None: out += b"\xff\xff"
        else:
            data = host_filter.encode()
            out += _p_h(len(data))
            out += data
        out += _p_bb(one.operation, one.permission_type)
    return out


def encode_2(message: DeleteAclsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    filters = message.filters
    n = len(filters) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in filters:
        out += _p_b(one.resource_type_filter)
        resource_name_filter = one.resource_name_filter
        if resource_name_filter is None: out += b"\0"
        else:
            data = resource_name_filter.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_b(one.pattern_type_filter)
        principal_filter = one.principal_filter
        if principal_filter is None: out += b"\0"
        else:
            data = principal_filter.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        host_filter = one.host_filter
        if host_filter is None: out += b"\0"
        else:
            data = host_filter.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_bbx(one.operation, one.permission_type)
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DeleteAclsRequest]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
}
