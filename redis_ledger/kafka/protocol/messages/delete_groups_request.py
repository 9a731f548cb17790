"""Made by `make generate` from Apache Kafka's DeleteGroupsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from


class DeleteGroupsRequest(Struct, gc=False):
    groups_names: list[str] = []  # The group names to delete.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteGroupsRequest:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 2 <= end - pos: raise bad_length("groups_names", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups_names: list[str] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("groups_names", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            groups_names.append(one)
        return DeleteGroupsRequest(groups_names)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteGroupsRequest:
    """Versions 2 to 3."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("groups_names", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups_names: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("groups_names", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            groups_names.append(one)
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DeleteGroupsRequest(groups_names)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DeleteGroupsRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
    3: decode_2,
}
