"""Made by `make generate` from Apache Kafka's DescribeGroupsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_groups_response import DescribeGroupsResponse, DescribedGroup, DescribedGroupMember
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from


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


DECODERS: dict[int, Decoder[DescribeGroupsResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_4,
    5: decode_5,
    6: decode_6,
}
