"""Made by `make generate` from Apache Kafka's DescribeClientQuotasResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_d = struct.Struct(">d").pack
_p_dx = struct.Struct(">dx").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack


class EntityData(Struct, gc=False):
    """The quota entity description."""

    entity_type: str = ""  # The entity type.
    entity_name: str | None = ""  # The entity name, or null if the default.


class ValueData(Struct, gc=False):
    """The quota values for the entity."""

    key: str = ""  # The quota configuration key.
    value: float = 0.0  # The quota configuration value.


class EntryData(Struct, gc=False):
    """A result entry."""

    entity: list[EntityData] = []  # The quota entity description.
    values: list[ValueData] = []  # The quota values for the entity.


class DescribeClientQuotasResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or `0` if the quota description succeeded.
    error_message: str | None = ""  # The error message, or `null` if the quota description succeeded.
    entries: list[EntryData] | None = []  # A result entry.


def encode_0(message: DescribeClientQuotasResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\xff\xff"
    else:
        data = error_message.encode()
        out += _p_h(len(data))
        out += data
    entries = message.entries
    if entries is None: out += b"\xff\xff\xff\xff"
    else:
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
            values = one.values
            out += _p_i(len(values))
            for one_3 in values:
                key = one_3.key
                data = key.encode()
                out += _p_h(len(data))
                out += data
                out += _p_d(one_3.value)
    return out


def encode_1(message: DescribeClientQuotasResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\0"
    else:
        data = error_message.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    entries = message.entries
    if entries is None: out += b"\0"
    else:
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
            values = one.values
            n = len(values) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in values:
                key = one_3.key
                data = key.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += _p_dx(one_3.value)
            out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeClientQuotasResponse]] = {
    0: encode_0,
    1: encode_1,
}
