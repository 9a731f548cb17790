"""Made by `make wire` from Apache Kafka's SyncGroupRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


class SyncGroupRequestAssignment(Struct, gc=False):
    """Each assignment."""

    member_id: str = ""  # The ID of the member to assign.
    assignment: bytes = b""  # The member assignment.


class SyncGroupRequest(Struct, gc=False):
    group_id: str = ""  # The unique group identifier.
    generation_id: int = 0  # The generation of the group.
    member_id: str = ""  # The member ID assigned by the group.
    group_instance_id: str | None = None  # The unique identifier of the consumer instance provided by end user.
    protocol_type: str | None = None  # The group protocol type.
    protocol_name: str | None = None  # The group protocol name.
    assignments: list[SyncGroupRequestAssignment] = []  # Each assignment.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SyncGroupRequest:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("assignments", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        assignments: list[SyncGroupRequestAssignment] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("assignment", n, end - pos)
            assignment = buf[pos : pos + n].tobytes(); pos += n
            assignments.append(SyncGroupRequestAssignment(member_id_2, assignment))
        return SyncGroupRequest(group_id, generation_id, member_id, None, None, None, assignments)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SyncGroupRequest:
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
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("assignments", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        assignments: list[SyncGroupRequestAssignment] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("assignment", n, end - pos)
            assignment = buf[pos : pos + n].tobytes(); pos += n
            assignments.append(SyncGroupRequestAssignment(member_id_2, assignment))
        return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SyncGroupRequest:
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
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("assignments", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        assignments: list[SyncGroupRequestAssignment] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("assignment", n, end - pos)
            assignment = buf[pos : pos + n].tobytes(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            assignments.append(SyncGroupRequestAssignment(member_id_2, assignment))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SyncGroupRequest:
    """Version 5."""
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
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("assignments", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        assignments: list[SyncGroupRequestAssignment] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("assignment", n, end - pos)
            assignment = buf[pos : pos + n].tobytes(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            assignments.append(SyncGroupRequestAssignment(member_id_2, assignment))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_0(message: SyncGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
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
    assignments = message.assignments
    out += _p_i(len(assignments))
    for one in assignments:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        out += _p_h(len(data))
        out += data
        assignment = one.assignment
        out += _p_i(len(assignment))
        out += assignment
    return out


def encode_3(message: SyncGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
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
    assignments = message.assignments
    out += _p_i(len(assignments))
    for one in assignments:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        out += _p_h(len(data))
        out += data
        assignment = one.assignment
        out += _p_i(len(assignment))
        out += assignment
    return out


def encode_4(message: SyncGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
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
    assignments = message.assignments
    n = len(assignments) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in assignments:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        assignment = one.assignment
        n = len(assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += assignment
        out += b"\0"
    out += b"\0"
    return out


def encode_5(message: SyncGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
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
    assignments = message.assignments
    n = len(assignments) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in assignments:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        assignment = one.assignment
        n = len(assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += assignment
        out += b"\0"
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[SyncGroupRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_4,
    5: decode_5,
}
ENCODERS: dict[int, Encoder[SyncGroupRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_4,
    5: encode_5,
}
