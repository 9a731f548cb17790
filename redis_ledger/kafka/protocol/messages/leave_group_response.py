"""Made by `make wire` from Apache Kafka's LeaveGroupResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihi = struct.Struct(">ihi").unpack_from
_p_h = struct.Struct(">h").pack
_p_hx = struct.Struct(">hx").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack


class MemberResponse(Struct, gc=False):
    """List of leaving member responses."""

    member_id: str = ""  # The member ID to remove from the group.
    group_instance_id: str | None = ""  # The group instance ID to remove from the group.
    error_code: int = 0  # The error code, or 0 if there was no error.


class LeaveGroupResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    members: list[MemberResponse] = []  # List of leaving member responses.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> LeaveGroupResponse:
    """Version 0."""
    end = len(buf)
    try:
        (error_code,) = _h(buf, pos); pos += 2
        if pos != end: raise left_over(end - pos)
        return LeaveGroupResponse(0, error_code, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> LeaveGroupResponse:
    """Versions 1 to 2."""
    end = len(buf)
    try:
        throttle_time_ms, error_code = _ih(buf, pos); pos += 6
        if pos != end: raise left_over(end - pos)
        return LeaveGroupResponse(throttle_time_ms, error_code, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> LeaveGroupResponse:
    """Version 3."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihi(buf, pos); pos += 10
        if not 0 <= n * 6 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[MemberResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if n == -1: group_instance_id = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
                group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
            (error_code_2,) = _h(buf, pos); pos += 2
            members.append(MemberResponse(member_id, group_instance_id, error_code_2))
        if pos != end: raise left_over(end - pos)
        return LeaveGroupResponse(throttle_time_ms, error_code, members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> LeaveGroupResponse:
    """Versions 4 to 5."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 5 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[MemberResponse] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
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
            error_code_2, n = _hB(buf, pos); pos += 3
            if n: pos, room = skip_tags(buf, pos, n, room)
            members.append(MemberResponse(member_id, group_instance_id, error_code_2))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return LeaveGroupResponse(throttle_time_ms, error_code, members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_0(message: LeaveGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_h(message.error_code)
    return out


def encode_1(message: LeaveGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    return out


def encode_3(message: LeaveGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    members = message.members
    out += _p_i(len(members))
    for one in members:
        member_id = one.member_id
        data = member_id.encode()
        out += _p_h(len(data))
        out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\xff\xff"
        else:
            data = group_instance_id.encode()
            out += _p_h(len(data))
            out += data
        out += _p_h(one.error_code)
    return out


def encode_4(message: LeaveGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 5."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    members = message.members
    n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in members:
        member_id = one.member_id
        data = member_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\0"
        else:
            data = group_instance_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_hx(one.error_code)
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[LeaveGroupResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_4,
    5: decode_4,
}
ENCODERS: dict[int, Encoder[LeaveGroupResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
    5: encode_4,
}
