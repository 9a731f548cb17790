"""Made by `make generate` from Apache Kafka's DescribeGroupsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_o = struct.Struct(">?").unpack_from
_oB = struct.Struct(">?B").unpack_from


class DescribeGroupsRequest(Struct, gc=False):
    groups: list[str] = []  # The names of the groups to describe.
    include_authorized_operations: bool = False  # Whether to include authorized operations.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeGroupsRequest:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 2 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[str] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("groups", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            groups.append(one)
        return DescribeGroupsRequest(groups, False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeGroupsRequest:
    """Versions 3 to 4."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 2 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[str] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("groups", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            groups.append(one)
        (include_authorized_operations,) = _o(buf, pos); pos += 1
        return DescribeGroupsRequest(groups, include_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeGroupsRequest:
    """Versions 5 to 6."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("groups", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            groups.append(one)
        include_authorized_operations, n = _oB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeGroupsRequest(groups, include_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeGroupsRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_3,
    5: decode_5,
    6: decode_5,
}
