"""Made by `make wire` from Apache Kafka's DescribeClientQuotasResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_d = struct.Struct(">d").unpack_from
_dB = struct.Struct(">dB").unpack_from
_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihh = struct.Struct(">ihh").unpack_from
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


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClientQuotasResponse:
    """Version 0."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihh(buf, pos); pos += 8
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        entries: list[EntryData] | None = None
        if n != -1:
            if not 0 <= n * 8 <= end - pos: raise bad_length("entries", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            entries = []
            for _ in range(n):
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("entity", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                entity: list[EntityData] = []
                for _ in range(n):
                    (n,) = _h(buf, pos); pos += 2
                    if not 0 <= n <= end - pos: raise bad_length("entity_type", n, end - pos)
                    entity_type = buf[pos : pos + n].tobytes().decode(); pos += n
                    (n,) = _h(buf, pos); pos += 2
                    if n == -1: entity_name = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("entity_name", n, end - pos)
                        entity_name = buf[pos : pos + n].tobytes().decode(); pos += n
                    entity.append(EntityData(entity_type, entity_name))
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 10 <= end - pos: raise bad_length("values", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                values: list[ValueData] = []
                for _ in range(n):
                    (n,) = _h(buf, pos); pos += 2
                    if not 0 <= n <= end - pos: raise bad_length("key", n, end - pos)
                    key = buf[pos : pos + n].tobytes().decode(); pos += n
                    (value,) = _d(buf, pos); pos += 8
                    values.append(ValueData(key, value))
                entries.append(EntryData(entity, values))
        if pos != end: raise left_over(end - pos)
        return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClientQuotasResponse:
    """Version 1."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        entries: list[EntryData] | None = None
        if n != -1:
            if not 0 <= n * 3 <= end - pos: raise bad_length("entries", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            entries = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 3 <= end - pos: raise bad_length("entity", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                entity: list[EntityData] = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("entity_type", n, end - pos)
                    entity_type = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: entity_name = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("entity_name", n, end - pos)
                        entity_name = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    entity.append(EntityData(entity_type, entity_name))
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 10 <= end - pos: raise bad_length("values", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                values: list[ValueData] = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("key", n, end - pos)
                    key = buf[pos : pos + n].tobytes().decode(); pos += n
                    value, n = _dB(buf, pos); pos += 9
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    values.append(ValueData(key, value))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                entries.append(EntryData(entity, values))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[DescribeClientQuotasResponse]] = {
    0: decode_0,
    1: decode_1,
}
ENCODERS: dict[int, Encoder[DescribeClientQuotasResponse]] = {
    0: encode_0,
    1: encode_1,
}
