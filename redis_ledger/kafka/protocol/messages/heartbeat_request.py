"""Made by `make generate` from Apache Kafka's HeartbeatRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_string, skip_tags

_h = struct.Struct(">h").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from


class HeartbeatRequest(Struct, gc=False):
    group_id: str = ""  # The group id.
    generation_id: int = 0  # The generation of the group.
    member_id: str = ""  # The member ID.
    group_instance_id: str | None = None  # The unique identifier of the consumer instance provided by end user.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> HeartbeatRequest:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        return HeartbeatRequest(group_id, generation_id, member_id, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> HeartbeatRequest:
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
        return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> HeartbeatRequest:
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
        if n: pos, room = skip_tags(buf, pos, n, room)
        return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[HeartbeatRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_4,
}
