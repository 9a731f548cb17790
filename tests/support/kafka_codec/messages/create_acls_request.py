"""Made by `make generate` from Apache Kafka's CreateAclsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.create_acls_request import CreateAclsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_bb = struct.Struct(">bb").pack
_p_bbx = struct.Struct(">bbx").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


def encode_1(message: CreateAclsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    creations = message.creations
    out += _p_i(len(creations))
    for one in creations:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_b(one.resource_pattern_type)
        principal = one.principal
        data = principal.encode()
        out += _p_h(len(data))
        out += data
        host = one.host
        data = host.encode()
        out += _p_h(len(data))
        out += data
        out += _p_bb(one.operation, one.permission_type)
    return out


def encode_2(message: CreateAclsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    creations = message.creations
    n = len(creations) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in creations:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_b(one.resource_pattern_type)
        principal = one.principal
        data = principal.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_bbx(one.operation, one.permission_type)
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[CreateAclsRequest]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
}
