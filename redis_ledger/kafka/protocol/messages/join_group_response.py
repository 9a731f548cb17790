"""Made by `make wire` from Apache Kafka's JoinGroupResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_hih = struct.Struct(">hih").unpack_from
_i = struct.Struct(">i").unpack_from
_ihiB = struct.Struct(">ihiB").unpack_from
_ihih = struct.Struct(">ihih").unpack_from
_oB = struct.Struct(">?B").unpack_from
_p_h = struct.Struct(">h").pack
_p_hi = struct.Struct(">hi").pack
_p_i = struct.Struct(">i").pack
_p_ihi = struct.Struct(">ihi").pack
_p_o = struct.Struct(">?").pack


class JoinGroupResponseMember(Struct, gc=False):
    """The group members."""

    member_id: str = ""  # The group member ID.
    group_instance_id: str | None = None  # The unique identifier of the consumer instance provided by end user.
    metadata: bytes = b""  # The group member metadata.


class JoinGroupResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    generation_id: int = -1  # The generation ID of the group.
    protocol_type: str | None = None  # The group protocol name.
    protocol_name: str | None = ""  # The group protocol selected by the coordinator.
    leader: str = ""  # The leader of the group.
    skip_assignment: bool = False  # True if the leader must skip running the assignment.
    member_id: str = ""  # The member ID assigned by the group coordinator.
    members: list[JoinGroupResponseMember] = []  # The group members.


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


def encode_0(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    out += _p_hi(message.error_code, message.generation_id)
    protocol_name = message.protocol_name
    assert protocol_name is not None, "protocol_name is null"
    data = protocol_name.encode()
    out += _p_h(len(data))
    out += data
    leader = message.leader
    data = leader.encode()
    out += _p_h(len(data))
    out += data
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    members = message.members
    out += _p_i(len(members))
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        out += _p_h(len(data))
        out += data
        metadata = one.metadata
        out += _p_i(len(metadata))
        out += metadata
    return out


def encode_2(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 4."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.generation_id)
    protocol_name = message.protocol_name
    assert protocol_name is not None, "protocol_name is null"
    data = protocol_name.encode()
    out += _p_h(len(data))
    out += data
    leader = message.leader
    data = leader.encode()
    out += _p_h(len(data))
    out += data
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    members = message.members
    out += _p_i(len(members))
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        out += _p_h(len(data))
        out += data
        metadata = one.metadata
        out += _p_i(len(metadata))
        out += metadata
    return out


def encode_5(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.generation_id)
    protocol_name = message.protocol_name
    assert protocol_name is not None, "protocol_name is null"
    data = protocol_name.encode()
    out += _p_h(len(data))
    out += data
    leader = message.leader
    data = leader.encode()
    out += _p_h(len(data))
    out += data
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    members = message.members
    out += _p_i(len(members))
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        out += _p_h(len(data))
        out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\xff\xff"
        else:
            data = group_instance_id.encode()
            out += _p_h(len(data))
            out += data
        metadata = one.metadata
        out += _p_i(len(metadata))
        out += metadata
    return out


def encode_6(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.generation_id)
    protocol_name = message.protocol_name
    assert protocol_name is not None, "protocol_name is null"
    data = protocol_name.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    leader = message.leader
    data = leader.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    members = message.members
    n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\0"
        else:
            data = group_instance_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        metadata = one.metadata
        n = len(metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += metadata
        out += b"\0"
    out += b"\0"
    return out


def encode_7(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 7 to 8."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.generation_id)
    protocol_type = message.protocol_type
    if protocol_type is None: out += b"\0"
    else:
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    protocol_name = message.protocol_name
    if protocol_name is None: out += b"\0"
    else:
        data = protocol_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    leader = message.leader
    data = leader.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    members = message.members
    n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\0"
        else:
            data = group_instance_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        metadata = one.metadata
        n = len(metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += metadata
        out += b"\0"
    out += b"\0"
    return out


def encode_9(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 9."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.generation_id)
    protocol_type = message.protocol_type
    if protocol_type is None: out += b"\0"
    else:
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    protocol_name = message.protocol_name
    if protocol_name is None: out += b"\0"
    else:
        data = protocol_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    leader = message.leader
    data = leader.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_o(message.skip_assignment)
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    members = message.members
    n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\0"
        else:
            data = group_instance_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        metadata = one.metadata
        n = len(metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += metadata
        out += b"\0"
    out += b"\0"
    return out


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
ENCODERS: dict[int, Encoder[JoinGroupResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
    3: encode_2,
    4: encode_2,
    5: encode_5,
    6: encode_6,
    7: encode_7,
    8: encode_7,
    9: encode_9,
}
