"""Made by `make generate` from Apache Kafka's AlterClientQuotasResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


class EntityData(Struct, gc=False):
    """The quota entity to alter."""

    entity_type: str = ""  # The entity type.
    entity_name: str | None = ""  # The name of the entity, or null if the default.


class EntryData(Struct, gc=False):
    """The quota configuration entries to alter."""

    error_code: int = 0  # The error code, or `0` if the quota alteration succeeded.
    error_message: str | None = ""  # The error message, or `null` if the quota alteration succeeded.
    entity: list[EntityData] = []  # The quota entity to alter.


class AlterClientQuotasResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    entries: list[EntryData] = []  # The quota configuration entries to alter.


def encode_0(message: AlterClientQuotasResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_i(message.throttle_time_ms)
    entries = message.entries
    out += _p_i(len(entries))
    for one in entries:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\xff\xff"
        else:
            data = error_message.encode()
            out += _p_h(len(data))
            out += data
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
    return out


def encode_1(message: AlterClientQuotasResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_i(message.throttle_time_ms)
    entries = message.entries
    n = len(entries) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in entries:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
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
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[AlterClientQuotasResponse]] = {
    0: encode_0,
    1: encode_1,
}
