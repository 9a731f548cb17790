"""Made by `make generate` from Apache Kafka's AlterClientQuotasRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_do = struct.Struct(">d?").unpack_from
_doB = struct.Struct(">d?B").unpack_from
_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_o = struct.Struct(">?").unpack_from
_oB = struct.Struct(">?B").unpack_from


class EntityData(Struct, gc=False):
    """The quota entity to alter."""

    entity_type: str = ""  # The entity type.
    entity_name: str | None = ""  # The name of the entity, or null if the default.


class OpData(Struct, gc=False):
    """An individual quota configuration entry to alter."""

    key: str = ""  # The quota configuration key.
    value: float = 0.0  # The value to set, otherwise ignored if the value is to be removed.
    remove: bool = False  # Whether the quota configuration value should be removed, otherwise set.


class EntryData(Struct, gc=False):
    """The quota configuration entries to alter."""

    entity: list[EntityData] = []  # The quota entity to alter.
    ops: list[OpData] = []  # An individual quota configuration entry to alter.


class AlterClientQuotasRequest(Struct, gc=False):
    entries: list[EntryData] = []  # The quota configuration entries to alter.
    validate_only: bool = False  # Whether the alteration should be validated, but not performed.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AlterClientQuotasRequest:
    """Version 0."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 8 <= end - pos: raise bad_length("entries", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        entries: list[EntryData] = []
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
            if not 0 <= n * 11 <= end - pos: raise bad_length("ops", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            ops: list[OpData] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("key", n, end - pos)
                key = buf[pos : pos + n].tobytes().decode(); pos += n
                value, remove = _do(buf, pos); pos += 9
                ops.append(OpData(key, value, remove))
            entries.append(EntryData(entity, ops))
        (validate_only,) = _o(buf, pos); pos += 1
        return AlterClientQuotasRequest(entries, validate_only)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AlterClientQuotasRequest:
    """Version 1."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("entries", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        entries: list[EntryData] = []
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
            if not 0 <= n * 11 <= end - pos: raise bad_length("ops", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            ops: list[OpData] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("key", n, end - pos)
                key = buf[pos : pos + n].tobytes().decode(); pos += n
                value, remove, n = _doB(buf, pos); pos += 10
                if n: pos, room = skip_tags(buf, pos, n, room)
                ops.append(OpData(key, value, remove))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            entries.append(EntryData(entity, ops))
        validate_only, n = _oB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return AlterClientQuotasRequest(entries, validate_only)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[AlterClientQuotasRequest]] = {
    0: decode_0,
    1: decode_1,
}
