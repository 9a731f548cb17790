"""Made by `make generate` from Apache Kafka's AlterConfigsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.alter_configs_request import AlterConfigsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_o = struct.Struct(">?").pack
_p_ox = struct.Struct(">?x").pack


def encode_0(message: AlterConfigsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    resources = message.resources
    out += _p_i(len(resources))
    for one in resources:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        out += _p_h(len(data))
        out += data
        configs = one.configs
        out += _p_i(len(configs))
        for one_2 in configs:
            name = one_2.name
            data = name.encode()
            out += _p_h(len(data))
            out += data
            value = one_2.value
            if value is None: out += b"\xff\xff"
            else:
                data = value.encode()
                out += _p_h(len(data))
                out += data
    out += _p_o(message.validate_only)
    return out


def encode_2(message: AlterConfigsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    resources = message.resources
    n = len(resources) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in resources:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        configs = one.configs
        n = len(configs) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in configs:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            value = one_2.value
            if value is None: out += b"\0"
            else:
                data = value.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
        out += b"\0"
    out += _p_ox(message.validate_only)
    return out


ENCODERS: dict[int, Encoder[AlterConfigsRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
}
