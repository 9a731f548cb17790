"""Made by `make generate` from Apache Kafka's LeaveGroupResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihi = struct.Struct(">ihi").unpack_from


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


DECODERS: dict[int, Decoder[LeaveGroupResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_4,
    5: decode_4,
}
