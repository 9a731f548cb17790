"""Made by `make generate` from Apache Kafka's JoinGroupResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_hih = struct.Struct(">hih").unpack_from
_i = struct.Struct(">i").unpack_from
_ihiB = struct.Struct(">ihiB").unpack_from
_ihih = struct.Struct(">ihih").unpack_from
_oB = struct.Struct(">?B").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupResponse:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        error_code, generation_id, n = _hih(buf, pos); pos += 8
        if not 0 <= n <= end - pos: raise bad_length("protocol_name", n, end - pos)
        protocol_name = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("leader", n, end - pos)
        leader = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[JoinGroupResponseMember] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            members.append(JoinGroupResponseMember(member_id_2, None, metadata))
        if pos != end: raise left_over(end - pos)
        return JoinGroupResponse(0, error_code, generation_id, None, protocol_name, leader, False, member_id, members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupResponse:
    """Versions 2 to 4."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, generation_id, n = _ihih(buf, pos); pos += 12
        if not 0 <= n <= end - pos: raise bad_length("protocol_name", n, end - pos)
        protocol_name = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("leader", n, end - pos)
        leader = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[JoinGroupResponseMember] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            members.append(JoinGroupResponseMember(member_id_2, None, metadata))
        if pos != end: raise left_over(end - pos)
        return JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupResponse:
    """Version 5."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, generation_id, n = _ihih(buf, pos); pos += 12
        if not 0 <= n <= end - pos: raise bad_length("protocol_name", n, end - pos)
        protocol_name = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("leader", n, end - pos)
        leader = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 8 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[JoinGroupResponseMember] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if n == -1: group_instance_id = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
                group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            members.append(JoinGroupResponseMember(member_id_2, group_instance_id, metadata))
        if pos != end: raise left_over(end - pos)
        return JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupResponse:
    """Version 6."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, generation_id, n = _ihiB(buf, pos); pos += 11
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("protocol_name", n, end - pos)
        protocol_name = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("leader", n, end - pos)
        leader = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 4 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[JoinGroupResponseMember] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: group_instance_id = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
                group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            members.append(JoinGroupResponseMember(member_id_2, group_instance_id, metadata))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_7(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupResponse:
    """Versions 7 to 8."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, generation_id, n = _ihiB(buf, pos); pos += 11
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: protocol_type = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
            protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: protocol_name = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("protocol_name", n, end - pos)
            protocol_name = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("leader", n, end - pos)
        leader = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 4 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[JoinGroupResponseMember] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: group_instance_id = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
                group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            members.append(JoinGroupResponseMember(member_id_2, group_instance_id, metadata))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return JoinGroupResponse(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, False, member_id, members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_9(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupResponse:
    """Version 9."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, generation_id, n = _ihiB(buf, pos); pos += 11
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: protocol_type = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
            protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: protocol_name = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("protocol_name", n, end - pos)
            protocol_name = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("leader", n, end - pos)
        leader = buf[pos : pos + n].tobytes().decode(); pos += n
        skip_assignment, n = _oB(buf, pos); pos += 2
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 4 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[JoinGroupResponseMember] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: group_instance_id = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
                group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            members.append(JoinGroupResponseMember(member_id_2, group_instance_id, metadata))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return JoinGroupResponse(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, skip_assignment, member_id, members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[JoinGroupResponse]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
    3: decode_2,
    4: decode_2,
    5: decode_5,
    6: decode_6,
    7: decode_7,
    8: decode_7,
    9: decode_9,
}
