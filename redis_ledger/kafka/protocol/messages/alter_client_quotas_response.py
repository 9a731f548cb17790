"""Made by `make wire` from Apache Kafka's AlterClientQuotasResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
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


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AlterClientQuotasResponse:
    """Version 0."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 8 <= end - pos: raise bad_length("entries", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        entries: list[EntryData] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
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
            entries.append(EntryData(error_code, error_message, entity))
        if pos != end: raise left_over(end - pos)
        return AlterClientQuotasResponse(throttle_time_ms, entries)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AlterClientQuotasResponse:
    """Version 1."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 5 <= end - pos: raise bad_length("entries", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        entries: list[EntryData] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
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
            if n: pos, room = skip_tags(buf, pos, n, room)
            entries.append(EntryData(error_code, error_message, entity))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return AlterClientQuotasResponse(throttle_time_ms, entries)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[AlterClientQuotasResponse]] = {
    0: decode_0,
    1: decode_1,
}
ENCODERS: dict[int, Encoder[AlterClientQuotasResponse]] = {
    0: encode_0,
    1: encode_1,
}
