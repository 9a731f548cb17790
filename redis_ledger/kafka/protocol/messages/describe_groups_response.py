"""Made by `make wire` from Apache Kafka's DescribeGroupsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ix = struct.Struct(">ix").pack


class DescribedGroupMember(Struct, gc=False):
    """The group members."""

    member_id: str = ""  # The member id.
    group_instance_id: str | None = None  # The unique identifier of the consumer instance provided by end user.
    client_id: str = ""  # The client ID used in the member's latest join group request.
    client_host: str = ""  # The client host.
    member_metadata: bytes = b""  # The metadata corresponding to the current group protocol in use.
    member_assignment: bytes = b""  # The current assignment provided by the group leader.


class DescribedGroup(Struct, gc=False):
    """Each described group."""

    error_code: int = 0  # The describe error, or 0 if there was no error.
    error_message: str | None = None  # The describe error message, or null if there was no error.
    group_id: str = ""  # The group ID string.
    group_state: str = ""  # The group state string, or the empty string.
    protocol_type: str = ""  # The group protocol type, or the empty string.
    protocol_data: str = ""  # The group protocol data, or the empty string.
    members: list[DescribedGroupMember] = []  # The group members.
    authorized_operations: int = -2147483648  # 32-bit bitfield to represent authorized operations for this group.


class DescribeGroupsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    groups: list[DescribedGroup] = []  # Each described group.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeGroupsResponse:
    """Version 0."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 14 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[DescribedGroup] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("group_state", n, end - pos)
            group_state = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
            protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("protocol_data", n, end - pos)
            protocol_data = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 14 <= end - pos: raise bad_length("members", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            members: list[DescribedGroupMember] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
                member_id = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("client_id", n, end - pos)
                client_id = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("client_host", n, end - pos)
                client_host = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n <= end - pos: raise bad_length("member_metadata", n, end - pos)
                member_metadata = buf[pos : pos + n].tobytes(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n <= end - pos: raise bad_length("member_assignment", n, end - pos)
                member_assignment = buf[pos : pos + n].tobytes(); pos += n
                members.append(DescribedGroupMember(member_id, None, client_id, client_host, member_metadata, member_assignment))
            groups.append(DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, -2147483648))
        if pos != end: raise left_over(end - pos)
        return DescribeGroupsResponse(0, groups)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeGroupsResponse:
    """Versions 1 to 2."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 14 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[DescribedGroup] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("group_state", n, end - pos)
            group_state = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
            protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("protocol_data", n, end - pos)
            protocol_data = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 14 <= end - pos: raise bad_length("members", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            members: list[DescribedGroupMember] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
                member_id = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("client_id", n, end - pos)
                client_id = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("client_host", n, end - pos)
                client_host = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n <= end - pos: raise bad_length("member_metadata", n, end - pos)
                member_metadata = buf[pos : pos + n].tobytes(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n <= end - pos: raise bad_length("member_assignment", n, end - pos)
                member_assignment = buf[pos : pos + n].tobytes(); pos += n
                members.append(DescribedGroupMember(member_id, None, client_id, client_host, member_metadata, member_assignment))
            groups.append(DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, -2147483648))
        if pos != end: raise left_over(end - pos)
        return DescribeGroupsResponse(throttle_time_ms, groups)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeGroupsResponse:
    """Version 3."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 18 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[DescribedGroup] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("group_state", n, end - pos)
            group_state = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
            protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("protocol_data", n, end - pos)
            protocol_data = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 14 <= end - pos: raise bad_length("members", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            members: list[DescribedGroupMember] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
                member_id = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("client_id", n, end - pos)
                client_id = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("client_host", n, end - pos)
                client_host = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n <= end - pos: raise bad_length("member_metadata", n, end - pos)
                member_metadata = buf[pos : pos + n].tobytes(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n <= end - pos: raise bad_length("member_assignment", n, end - pos)
                member_assignment = buf[pos : pos + n].tobytes(); pos += n
                members.append(DescribedGroupMember(member_id, None, client_id, client_host, member_metadata, member_assignment))
            (authorized_operations,) = _i(buf, pos); pos += 4
            groups.append(DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations))
        if pos != end: raise left_over(end - pos)
        return DescribeGroupsResponse(throttle_time_ms, groups)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeGroupsResponse:
    """Version 4."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 18 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[DescribedGroup] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("group_state", n, end - pos)
            group_state = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
            protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("protocol_data", n, end - pos)
            protocol_data = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 16 <= end - pos: raise bad_length("members", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            members: list[DescribedGroupMember] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
                member_id = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if n == -1: group_instance_id = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
                    group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("client_id", n, end - pos)
                client_id = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("client_host", n, end - pos)
                client_host = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n <= end - pos: raise bad_length("member_metadata", n, end - pos)
                member_metadata = buf[pos : pos + n].tobytes(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n <= end - pos: raise bad_length("member_assignment", n, end - pos)
                member_assignment = buf[pos : pos + n].tobytes(); pos += n
                members.append(DescribedGroupMember(member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment))
            (authorized_operations,) = _i(buf, pos); pos += 4
            groups.append(DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations))
        if pos != end: raise left_over(end - pos)
        return DescribeGroupsResponse(throttle_time_ms, groups)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeGroupsResponse:
    """Version 5."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 12 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[DescribedGroup] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_state", n, end - pos)
            group_state = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
            protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("protocol_data", n, end - pos)
            protocol_data = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 7 <= end - pos: raise bad_length("members", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            members: list[DescribedGroupMember] = []
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
                if not 0 <= n <= end - pos: raise bad_length("client_id", n, end - pos)
                client_id = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("client_host", n, end - pos)
                client_host = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("member_metadata", n, end - pos)
                member_metadata = buf[pos : pos + n].tobytes(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("member_assignment", n, end - pos)
                member_assignment = buf[pos : pos + n].tobytes(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                members.append(DescribedGroupMember(member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment))
            authorized_operations, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            groups.append(DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeGroupsResponse(throttle_time_ms, groups)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeGroupsResponse:
    """Version 6."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 13 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[DescribedGroup] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_state", n, end - pos)
            group_state = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
            protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("protocol_data", n, end - pos)
            protocol_data = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 7 <= end - pos: raise bad_length("members", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            members: list[DescribedGroupMember] = []
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
                if not 0 <= n <= end - pos: raise bad_length("client_id", n, end - pos)
                client_id = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("client_host", n, end - pos)
                client_host = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("member_metadata", n, end - pos)
                member_metadata = buf[pos : pos + n].tobytes(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("member_assignment", n, end - pos)
                member_assignment = buf[pos : pos + n].tobytes(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                members.append(DescribedGroupMember(member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment))
            authorized_operations, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            groups.append(DescribedGroup(error_code, error_message, group_id, group_state, protocol_type, protocol_data, members, authorized_operations))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeGroupsResponse(throttle_time_ms, groups)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_0(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        out += _p_h(one.error_code)
        group_id = one.group_id
        data = group_id.encode()
        out += _p_h(len(data))
        out += data
        group_state = one.group_state
        data = group_state.encode()
        out += _p_h(len(data))
        out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        out += _p_h(len(data))
        out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        out += _p_h(len(data))
        out += data
        members = one.members
        out += _p_i(len(members))
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            out += _p_h(len(data))
            out += data
            client_id = one_2.client_id
            data = client_id.encode()
            out += _p_h(len(data))
            out += data
            client_host = one_2.client_host
            data = client_host.encode()
            out += _p_h(len(data))
            out += data
            member_metadata = one_2.member_metadata
            out += _p_i(len(member_metadata))
            out += member_metadata
            member_assignment = one_2.member_assignment
            out += _p_i(len(member_assignment))
            out += member_assignment
    return out


def encode_1(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        out += _p_h(one.error_code)
        group_id = one.group_id
        data = group_id.encode()
        out += _p_h(len(data))
        out += data
        group_state = one.group_state
        data = group_state.encode()
        out += _p_h(len(data))
        out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        out += _p_h(len(data))
        out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        out += _p_h(len(data))
        out += data
        members = one.members
        out += _p_i(len(members))
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            out += _p_h(len(data))
            out += data
            client_id = one_2.client_id
            data = client_id.encode()
            out += _p_h(len(data))
            out += data
            client_host = one_2.client_host
            data = client_host.encode()
            out += _p_h(len(data))
            out += data
            member_metadata = one_2.member_metadata
            out += _p_i(len(member_metadata))
            out += member_metadata
            member_assignment = one_2.member_assignment
            out += _p_i(len(member_assignment))
            out += member_assignment
    return out


def encode_3(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        out += _p_h(one.error_code)
        group_id = one.group_id
        data = group_id.encode()
        out += _p_h(len(data))
        out += data
        group_state = one.group_state
        data = group_state.encode()
        out += _p_h(len(data))
        out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        out += _p_h(len(data))
        out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        out += _p_h(len(data))
        out += data
        members = one.members
        out += _p_i(len(members))
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            out += _p_h(len(data))
            out += data
            client_id = one_2.client_id
            data = client_id.encode()
            out += _p_h(len(data))
            out += data
            client_host = one_2.client_host
            data = client_host.encode()
            out += _p_h(len(data))
            out += data
            member_metadata = one_2.member_metadata
            out += _p_i(len(member_metadata))
            out += member_metadata
            member_assignment = one_2.member_assignment
            out += _p_i(len(member_assignment))
            out += member_assignment
        out += _p_i(one.authorized_operations)
    return out


def encode_4(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        out += _p_h(one.error_code)
        group_id = one.group_id
        data = group_id.encode()
        out += _p_h(len(data))
        out += data
        group_state = one.group_state
        data = group_state.encode()
        out += _p_h(len(data))
        out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        out += _p_h(len(data))
        out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        out += _p_h(len(data))
        out += data
        members = one.members
        out += _p_i(len(members))
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            out += _p_h(len(data))
            out += data
            group_instance_id = one_2.group_instance_id
            if group_instance_id is None: out += b"\xff\xff"
            else:
                data = group_instance_id.encode()
                out += _p_h(len(data))
                out += data
            client_id = one_2.client_id
            data = client_id.encode()
            out += _p_h(len(data))
            out += data
            client_host = one_2.client_host
            data = client_host.encode()
            out += _p_h(len(data))
            out += data
            member_metadata = one_2.member_metadata
            out += _p_i(len(member_metadata))
            out += member_metadata
            member_assignment = one_2.member_assignment
            out += _p_i(len(member_assignment))
            out += member_assignment
        out += _p_i(one.authorized_operations)
    return out


def encode_5(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        out += _p_h(one.error_code)
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_state = one.group_state
        data = group_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        members = one.members
        n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            group_instance_id = one_2.group_instance_id
            if group_instance_id is None: out += b"\0"
            else:
                data = group_instance_id.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            client_id = one_2.client_id
            data = client_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            client_host = one_2.client_host
            data = client_host.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            member_metadata = one_2.member_metadata
            n = len(member_metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += member_metadata
            member_assignment = one_2.member_assignment
            n = len(member_assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += member_assignment
            out += b"\0"
        out += _p_ix(one.authorized_operations)
    out += b"\0"
    return out


def encode_6(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_state = one.group_state
        data = group_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        members = one.members
        n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            group_instance_id = one_2.group_instance_id
            if group_instance_id is None: out += b"\0"
            else:
                data = group_instance_id.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            client_id = one_2.client_id
            data = client_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            client_host = one_2.client_host
            data = client_host.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            member_metadata = one_2.member_metadata
            n = len(member_metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += member_metadata
            member_assignment = one_2.member_assignment
            n = len(member_assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += member_assignment
            out += b"\0"
        out += _p_ix(one.authorized_operations)
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[DescribeGroupsResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_4,
    5: decode_5,
    6: decode_6,
}
ENCODERS: dict[int, Encoder[DescribeGroupsResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
    5: encode_5,
    6: encode_6,
}
