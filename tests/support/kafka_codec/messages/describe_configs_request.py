"""Made by `make generate` from Apache Kafka's DescribeConfigsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_configs_request import DescribeConfigsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_o = struct.Struct(">?").pack
_p_oo = struct.Struct(">??").pack
_p_oox = struct.Struct(">??x").pack


def encode_1(message: DescribeConfigsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    resources = message.resources
    out += _p_i(len(resources))
    for one in resources:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        out += _p_h(len(data))
        out += data
        configuration_keys = one.configuration_keys
        if configuration_keys is None: out += b"\xff\xff\xff\xff"
        else:
            out += _p_i(len(configuration_keys))
            for one_2 in configuration_keys:
                data = one_2.encode()
                out += _p_h(len(data))
                out += data
    out += _p_o(message.include_synonyms)
    return out


def encode_3(message: DescribeConfigsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    resources = message.resources
    out += _p_i(len(resources))
    for one in resources:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        out += _p_h(len(data))
        out += data
        configuration_keys = one.configuration_keys
        if configuration_keys is None: out += b"\xff\xff\xff\xff"
        else:
            out += _p_i(len(configuration_keys))
            for one_2 in configuration_keys:
                data = one_2.encode()
                out += _p_h(len(data))
                out += data
    out += _p_oo(message.include_synonyms, message.include_documentation)
    return out


def encode_4(message: DescribeConfigsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    resources = message.resources
    n = len(resources) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in resources:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        configuration_keys = one.configuration_keys
        if configuration_keys is None: out += b"\0"
        else:
            n = len(configuration_keys) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in configuration_keys:
                data = one_2.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += _p_oox(message.include_synonyms, message.include_documentation)
    return out


ENCODERS: dict[int, Encoder[DescribeConfigsRequest]] = {
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
}
