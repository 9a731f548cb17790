"""Made by `make wire` from Apache Kafka's DeleteGroupsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


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


def encode_0(message: DeleteGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    groups_names = message.groups_names
    out += _p_i(len(groups_names))
    for one in groups_names:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    return out


def encode_2(message: DeleteGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    groups_names = message.groups_names
    n = len(groups_names) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups_names:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[DeleteGroupsRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
    3: decode_2,
}
ENCODERS: dict[int, Encoder[DeleteGroupsRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
    3: encode_2,
}
