"""Made by `make generate` from Apache Kafka's LeaveGroupRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from


class MemberIdentity(Struct, gc=False):
    """List of leaving member identities."""

    member_id: str = ""  # The member ID to remove from the group.
    group_instance_id: str | None = None  # The group instance ID to remove from the group.
    reason: str | None = None  # The reason why the member left the group.


class LeaveGroupRequest(Struct, gc=False):
    group_id: str = ""  # The ID of the group to leave.
    member_id: str = ""  # The member ID to remove from the group.
    members: list[MemberIdentity] = []  # List of leaving member identities.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> LeaveGroupRequest:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        return LeaveGroupRequest(group_id, member_id, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> LeaveGroupRequest:
    """Version 3."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 4 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[MemberIdentity] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if n == -1: group_instance_id = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
                group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
            members.append(MemberIdentity(member_id, group_instance_id, None))
        return LeaveGroupRequest(group_id, "", members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> LeaveGroupRequest:
    """Version 4."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[MemberIdentity] = []
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
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            members.append(MemberIdentity(member_id, group_instance_id, None))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return LeaveGroupRequest(group_id, "", members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> LeaveGroupRequest:
    """Version 5."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 4 <= end - pos: raise bad_length("members", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        members: list[MemberIdentity] = []
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
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: reason = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("reason", n, end - pos)
                reason = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            members.append(MemberIdentity(member_id, group_instance_id, reason))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return LeaveGroupRequest(group_id, "", members)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[LeaveGroupRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_4,
    5: decode_5,
}
