"""Made by `make wire` from Apache Kafka's HeartbeatRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, long_string, skip_tags, uvarint

_h = struct.Struct(">h").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


class HeartbeatRequest(Struct, gc=False):
    group_id: str = ""  # The group id.
    generation_id: int = 0  # The generation of the group.
    member_id: str = ""  # The member ID.
    group_instance_id: str | None = None  # The unique identifier of the consumer instance provided by end user.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> HeartbeatRequest:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        return HeartbeatRequest(group_id, generation_id, member_id, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> HeartbeatRequest:
    """Version 3."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if n == -1: group_instance_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
            group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
        return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> HeartbeatRequest:
    """Version 4."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: group_instance_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
            group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_0(message: HeartbeatRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.generation_id)
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    return out


def encode_3(message: HeartbeatRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.generation_id)
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    group_instance_id = message.group_instance_id
    if group_instance_id is None: out += b"\xff\xff"
    else:
        data = group_instance_id.encode()
        out += _p_h(len(data))
        out += data
    return out


def encode_4(message: HeartbeatRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.generation_id)
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    group_instance_id = message.group_instance_id
    if group_instance_id is None: out += b"\0"
    else:
        data = group_instance_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[HeartbeatRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_4,
}
ENCODERS: dict[int, Encoder[HeartbeatRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_4,
}
