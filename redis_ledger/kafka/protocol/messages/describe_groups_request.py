"""Made by `make wire` from Apache Kafka's DescribeGroupsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_o = struct.Struct(">?").unpack_from
_oB = struct.Struct(">?B").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_o = struct.Struct(">?").pack
_p_ox = struct.Struct(">?x").pack


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


def encode_0(message: DescribeGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    return out


def encode_3(message: DescribeGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    out += _p_o(message.include_authorized_operations)
    return out


def encode_5(message: DescribeGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 5 to 6."""
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_ox(message.include_authorized_operations)
    return out


DECODERS: dict[int, Decoder[DescribeGroupsRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_3,
    5: decode_5,
    6: decode_5,
}
ENCODERS: dict[int, Encoder[DescribeGroupsRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_3,
    5: encode_5,
    6: encode_5,
}
