"""Made by `make generate` from Apache Kafka's OffsetFetchRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, fixed_array, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_oB = struct.Struct(">?B").unpack_from
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
