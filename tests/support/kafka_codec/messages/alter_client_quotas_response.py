"""Made by `make generate` from Apache Kafka's AlterClientQuotasResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse, EntityData, EntryData
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from


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


DECODERS: dict[int, Decoder[AlterClientQuotasResponse]] = {
    0: decode_0,
    1: decode_1,
}
