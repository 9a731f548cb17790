"""Made by `make generate` from Apache Kafka's AlterClientQuotasRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_do = struct.Struct(">d?").pack
_p_dox = struct.Struct(">d?x").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_o = struct.Struct(">?").pack
_p_ox = struct.Struct(">?x").pack


def encode_0(message: AlterClientQuotasRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    entries = message.entries
    out += _p_i(len(entries))
    for one in entries:
        entity = one.entity
        out += _p_i(len(entity))
        for one_2 in entity:
            entity_type = one_2.entity_type
            data = entity_type.encode()
            out += _p_h(len(data))
            out += data
            entity_name = one_2.entity_name
            if entity_name is None: out += b"\xff\xff"
            else:
                data = entity_name.encode()
                out += _p_h(len(data))
                out += data
        ops = one.ops
        out += _p_i(len(ops))
        for one_3 in ops:
            key = one_3.key
            data = key.encode()
            out += _p_h(len(data))
            out += data
            out += _p_do(one_3.value, one_3.remove)
    out += _p_o(message.validate_only)
    return out


def encode_1(message: AlterClientQuotasRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    entries = message.entries
    n = len(entries) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in entries:
        entity = one.entity
        n = len(entity) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in entity:
            entity_type = one_2.entity_type
            data = entity_type.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            entity_name = one_2.entity_name
            if entity_name is None: out += b"\0"
            else:
                data = entity_name.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
        ops = one.ops
        n = len(ops) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_3 in ops:
            key = one_3.key
            data = key.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += _p_dox(one_3.value, one_3.remove)
        out += b"\0"
    out += _p_ox(message.validate_only)
    return out


ENCODERS: dict[int, Encoder[AlterClientQuotasRequest]] = {
    0: encode_0,
    1: encode_1,
}
