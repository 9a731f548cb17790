"""Made by `make wire` from Apache Kafka's OffsetFetchRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, fixed_array, long_length, long_string, pack_array, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_oB = struct.Struct(">?B").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ox = struct.Struct(">?x").pack
_p_u = struct.Struct(">16s").pack
_uB = struct.Struct(">16sB").unpack_from


class OffsetFetchRequestTopic(Struct, gc=False):
    """Each topic we would like to fetch offsets for, or null to fetch offsets for all topics."""

    name: str = ""  # The topic name.
    partition_indexes: list[int] = []  # The partition indexes we would like to fetch offsets for.


class OffsetFetchRequestTopics(Struct, gc=False):
    """Each topic we would like to fetch offsets for, or null to fetch offsets for all topics."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The topic ID.
    partition_indexes: list[int] = []  # The partition indexes we would like to fetch offsets for.


class OffsetFetchRequestGroup(Struct, gc=False):
    """Each group we would like to fetch offsets for."""

    group_id: str = ""  # The group ID.
    member_id: str | None = None  # The member id.
    member_epoch: int = -1  # The member epoch if using the new consumer protocol (KIP-848).
    topics: list[OffsetFetchRequestTopics] | None = []  # Each topic we would like to fetch offsets for, or null to fetch offsets for all topics.


class OffsetFetchRequest(Struct, gc=False):
    group_id: str = ""  # The group to fetch offsets for.
    topics: list[OffsetFetchRequestTopic] | None = []  # Each topic we would like to fetch offsets for, or null to fetch offsets for all topics.
    groups: list[OffsetFetchRequestGroup] = []  # Each group we would like to fetch offsets for.
    require_stable: bool = False  # Whether broker should hold on returning unstable offsets but set a retriable error code for the partitions.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchRequest:
    """Version 1."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetFetchRequestTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("partition_indexes", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partition_indexes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            topics.append(OffsetFetchRequestTopic(name, partition_indexes))
        return OffsetFetchRequest(group_id, topics, [], False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchRequest:
    """Versions 2 to 5."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        topics: list[OffsetFetchRequestTopic] | None = None
        if n != -1:
            if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("partition_indexes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partition_indexes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                topics.append(OffsetFetchRequestTopic(name, partition_indexes))
        return OffsetFetchRequest(group_id, topics, [], False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchRequest:
    """Version 6."""
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
        topics: list[OffsetFetchRequestTopic] | None = None
        if n != -1:
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("partition_indexes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partition_indexes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(OffsetFetchRequestTopic(name, partition_indexes))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return OffsetFetchRequest(group_id, topics, [], False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_7(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchRequest:
    """Version 7."""
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
        topics: list[OffsetFetchRequestTopic] | None = None
        if n != -1:
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("partition_indexes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partition_indexes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(OffsetFetchRequestTopic(name, partition_indexes))
        require_stable, n = _oB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return OffsetFetchRequest(group_id, topics, [], require_stable)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_8(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchRequest:
    """Version 8."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[OffsetFetchRequestGroup] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            topics: list[OffsetFetchRequestTopics] | None = None
            if n != -1:
                if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                topics = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                    name = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 4 <= end - pos: raise bad_length("partition_indexes", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    partition_indexes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    topics.append(OffsetFetchRequestTopics(name, NO_UUID, partition_indexes))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            groups.append(OffsetFetchRequestGroup(group_id, None, -1, topics))
        require_stable, n = _oB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return OffsetFetchRequest("", [], groups, require_stable)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_9(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchRequest:
    """Version 9."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 8 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[OffsetFetchRequestGroup] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: member_id = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
                member_id = buf[pos : pos + n].tobytes().decode(); pos += n
            member_epoch, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            topics: list[OffsetFetchRequestTopics] | None = None
            if n != -1:
                if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                topics = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                    name = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 4 <= end - pos: raise bad_length("partition_indexes", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    partition_indexes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    topics.append(OffsetFetchRequestTopics(name, NO_UUID, partition_indexes))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            groups.append(OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics))
        require_stable, n = _oB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return OffsetFetchRequest("", [], groups, require_stable)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_10(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchRequest:
    """Version 10."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 8 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[OffsetFetchRequestGroup] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: member_id = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
                member_id = buf[pos : pos + n].tobytes().decode(); pos += n
            member_epoch, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            topics: list[OffsetFetchRequestTopics] | None = None
            if n != -1:
                if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                topics = []
                for _ in range(n):
                    topic_id, n = _uB(buf, pos); pos += 17
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 4 <= end - pos: raise bad_length("partition_indexes", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    partition_indexes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    topics.append(OffsetFetchRequestTopics("", topic_id, partition_indexes))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            groups.append(OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics))
        require_stable, n = _oB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return OffsetFetchRequest("", [], groups, require_stable)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_1(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    topics = message.topics
    assert topics is not None, "topics is null"
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partition_indexes = one.partition_indexes
        out += _p_i(len(partition_indexes))
        out += pack_array("i", partition_indexes)
    return out


def encode_2(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 5."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    topics = message.topics
    if topics is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(topics))
        for one in topics:
            name = one.name
            data = name.encode()
            out += _p_h(len(data))
            out += data
            partition_indexes = one.partition_indexes
            out += _p_i(len(partition_indexes))
            out += pack_array("i", partition_indexes)
    return out


def encode_6(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    topics = message.topics
    if topics is None: out += b"\0"
    else:
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in topics:
            name = one.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partition_indexes = one.partition_indexes
            n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partition_indexes)
            out += b"\0"
    out += b"\0"
    return out


def encode_7(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 7."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    topics = message.topics
    if topics is None: out += b"\0"
    else:
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in topics:
            name = one.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partition_indexes = one.partition_indexes
            n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partition_indexes)
            out += b"\0"
    out += _p_ox(message.require_stable)
    return out


def encode_8(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 8."""
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topics = one.topics
        if topics is None: out += b"\0"
        else:
            n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in topics:
                name = one_2.name
                data = name.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                partition_indexes = one_2.partition_indexes
                n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", partition_indexes)
                out += b"\0"
        out += b"\0"
    out += _p_ox(message.require_stable)
    return out


def encode_9(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 9."""
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        member_id = one.member_id
        if member_id is None: out += b"\0"
        else:
            data = member_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.member_epoch)
        topics = one.topics
        if topics is None: out += b"\0"
        else:
            n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in topics:
                name = one_2.name
                data = name.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                partition_indexes = one_2.partition_indexes
                n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", partition_indexes)
                out += b"\0"
        out += b"\0"
    out += _p_ox(message.require_stable)
    return out


def encode_10(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 10."""
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        member_id = one.member_id
        if member_id is None: out += b"\0"
        else:
            data = member_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.member_epoch)
        topics = one.topics
        if topics is None: out += b"\0"
        else:
            n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in topics:
                out += _p_u(one_2.topic_id)
                partition_indexes = one_2.partition_indexes
                n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", partition_indexes)
                out += b"\0"
        out += b"\0"
    out += _p_ox(message.require_stable)
    return out


DECODERS: dict[int, Decoder[OffsetFetchRequest]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
    4: decode_2,
    5: decode_2,
    6: decode_6,
    7: decode_7,
    8: decode_8,
    9: decode_9,
    10: decode_10,
}
ENCODERS: dict[int, Encoder[OffsetFetchRequest]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
    4: encode_2,
    5: encode_2,
    6: encode_6,
    7: encode_7,
    8: encode_8,
    9: encode_9,
    10: encode_10,
}
