"""Made by `make generate` from Apache Kafka's JoinGroupRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_ih = struct.Struct(">ih").unpack_from
_iiB = struct.Struct(">iiB").unpack_from
_iih = struct.Struct(">iih").unpack_from


class JoinGroupRequestProtocol(Struct, gc=False):
    """The list of protocols that the member supports."""

    name: str = ""  # The protocol name.
    metadata: bytes = b""  # The protocol metadata.


class JoinGroupRequest(Struct, gc=False):
    group_id: str = ""  # The group identifier.
    session_timeout_ms: int = 0  # The coordinator considers the consumer dead if it receives no heartbeat after this timeout in milliseconds.
    rebalance_timeout_ms: int = -1  # The maximum time in milliseconds that the coordinator will wait for each member to rejoin when rebalancing the group.
    member_id: str = ""  # The member id assigned by the group coordinator.
    group_instance_id: str | None = None  # The unique identifier of the consumer instance provided by end user.
    protocol_type: str = ""  # The unique name the for class of protocols implemented by the group we want to join.
    protocols: list[JoinGroupRequestProtocol] = []  # The list of protocols that the member supports.
    reason: str | None = None  # The reason why the member (re-)joins the group.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupRequest:
    """Version 0."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        session_timeout_ms, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
        protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("protocols", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            protocols.append(JoinGroupRequestProtocol(name, metadata))
        return JoinGroupRequest(group_id, session_timeout_ms, -1, member_id, None, protocol_type, protocols, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupRequest:
    """Versions 1 to 4."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        session_timeout_ms, rebalance_timeout_ms, n = _iih(buf, pos); pos += 10
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
        protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("protocols", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            protocols.append(JoinGroupRequestProtocol(name, metadata))
        return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, None, protocol_type, protocols, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupRequest:
    """Version 5."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        session_timeout_ms, rebalance_timeout_ms, n = _iih(buf, pos); pos += 10
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if n == -1: group_instance_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
            group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
        protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("protocols", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            protocols.append(JoinGroupRequestProtocol(name, metadata))
        return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupRequest:
    """Versions 6 to 7."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        session_timeout_ms, rebalance_timeout_ms, n = _iiB(buf, pos); pos += 9
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
        if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
        protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("protocols", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            protocols.append(JoinGroupRequestProtocol(name, metadata))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_8(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> JoinGroupRequest:
    """Versions 8 to 9."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        session_timeout_ms, rebalance_timeout_ms, n = _iiB(buf, pos); pos += 9
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
        if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
        protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("protocols", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
            metadata = buf[pos : pos + n].tobytes(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            protocols.append(JoinGroupRequestProtocol(name, metadata))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: reason = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("reason", n, end - pos)
            reason = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, reason)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[JoinGroupRequest]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_1,
    4: decode_1,
    5: decode_5,
    6: decode_6,
    7: decode_6,
    8: decode_8,
    9: decode_8,
}
