"""Made by `make generate` from Apache Kafka's SyncGroupRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from


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


DECODERS: dict[int, Decoder[SyncGroupRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_4,
    5: decode_5,
}
