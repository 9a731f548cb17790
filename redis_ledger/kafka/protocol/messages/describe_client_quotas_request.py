"""Made by `make generate` from Apache Kafka's DescribeClientQuotasRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_bB = struct.Struct(">bB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_o = struct.Struct(">?").unpack_from
_oB = struct.Struct(">?B").unpack_from


class ComponentData(Struct, gc=False):
    """Filter components to apply to quota entities."""

    entity_type: str = ""  # The entity type that the filter component applies to.
    match_type: int = 0  # How to match the entity {0 = exact name, 1 = default name, 2 = any specified name}.
    match: str | None = ""  # The string to match against, or null if unused for the match type.


class DescribeClientQuotasRequest(Struct, gc=False):
    components: list[ComponentData] = []  # Filter components to apply to quota entities.
    strict: bool = False  # Whether the match is strict, i.e. should exclude entities with unspecified entity types.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClientQuotasRequest:
    """Version 0."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 5 <= end - pos: raise bad_length("components", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        components: list[ComponentData] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("entity_type", n, end - pos)
            entity_type = buf[pos : pos + n].tobytes().decode(); pos += n
            match_type, n = _bh(buf, pos); pos += 3
            if n == -1: match = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("match", n, end - pos)
                match = buf[pos : pos + n].tobytes().decode(); pos += n
            components.append(ComponentData(entity_type, match_type, match))
        (strict,) = _o(buf, pos); pos += 1
        return DescribeClientQuotasRequest(components, strict)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClientQuotasRequest:
    """Version 1."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 4 <= end - pos: raise bad_length("components", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        components: list[ComponentData] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("entity_type", n, end - pos)
            entity_type = buf[pos : pos + n].tobytes().decode(); pos += n
            match_type, n = _bB(buf, pos); pos += 2
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: match = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("match", n, end - pos)
                match = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            components.append(ComponentData(entity_type, match_type, match))
        strict, n = _oB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeClientQuotasRequest(components, strict)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeClientQuotasRequest]] = {
    0: decode_0,
    1: decode_1,
}
