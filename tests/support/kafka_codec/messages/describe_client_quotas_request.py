"""Made by `make generate` from Apache Kafka's DescribeClientQuotasRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_client_quotas_request import DescribeClientQuotasRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_o = struct.Struct(">?").pack
_p_ox = struct.Struct(">?x").pack


def encode_0(message: DescribeClientQuotasRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    components = message.components
    out += _p_i(len(components))
    for one in components:
        entity_type = one.entity_type
        data = entity_type.encode()
        out += _p_h(len(data))
        out += data
        out += _p_b(one.match_type)
        match = one.match
        if match is None: out += b"\xff\xff"
        else:
            data = match.encode()
            out += _p_h(len(data))
            out += data
    out += _p_o(message.strict)
    return out


def encode_1(message: DescribeClientQuotasRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    components = message.components
    n = len(components) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in components:
        entity_type = one.entity_type
        data = entity_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_b(one.match_type)
        match = one.match
        if match is None: out += b"\0"
        else:
            data = match.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += _p_ox(message.strict)
    return out


ENCODERS: dict[int, Encoder[DescribeClientQuotasRequest]] = {
    0: encode_0,
    1: encode_1,
}
