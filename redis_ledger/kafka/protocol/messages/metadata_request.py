"""Made by `make generate` from Apache Kafka's MetadataRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_o = struct.Struct(">?").unpack_from
_ooB = struct.Struct(">??B").unpack_from
_ooo = struct.Struct(">???").unpack_from
_oooB = struct.Struct(">???B").unpack_from
_uB = struct.Struct(">16sB").unpack_from


class MetadataRequestTopic(Struct, gc=False):
    """The topics to fetch metadata for."""

    topic_id: bytes = NO_UUID  # The topic id.
    name: str | None = ""  # The topic name.


class MetadataRequest(Struct, gc=False):
    topics: list[MetadataRequestTopic] | None = []  # The topics to fetch metadata for.
    allow_auto_topic_creation: bool = True  # If this is true, the broker may auto-create topics that we requested which do not already exist, if it is configured to do so.
    include_cluster_authorized_operations: bool = False  # Whether to include cluster authorized operations.
    include_topic_authorized_operations: bool = False  # Whether to include topic authorized operations.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataRequest:
    """Version 0."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 2 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataRequestTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            topics.append(MetadataRequestTopic(NO_UUID, name))
        return MetadataRequest(topics, True, False, False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataRequest:
    """Versions 1 to 3."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        topics: list[MetadataRequestTopic] | None = None
        if n != -1:
            if not 0 <= n * 2 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                topics.append(MetadataRequestTopic(NO_UUID, name))
        return MetadataRequest(topics, True, False, False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataRequest:
    """Versions 4 to 7."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        topics: list[MetadataRequestTopic] | None = None
        if n != -1:
            if not 0 <= n * 2 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                topics.append(MetadataRequestTopic(NO_UUID, name))
        (allow_auto_topic_creation,) = _o(buf, pos); pos += 1
        return MetadataRequest(topics, allow_auto_topic_creation, False, False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_8(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataRequest:
    """Version 8."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        topics: list[MetadataRequestTopic] | None = None
        if n != -1:
            if not 0 <= n * 2 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                topics.append(MetadataRequestTopic(NO_UUID, name))
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = _ooo(buf, pos); pos += 3
        return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_9(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataRequest:
    """Version 9."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        topics: list[MetadataRequestTopic] | None = None
        if n != -1:
            if not 0 <= n * 2 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(MetadataRequestTopic(NO_UUID, name))
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, n = _oooB(buf, pos); pos += 4
        if n: pos, room = skip_tags(buf, pos, n, room)
        return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_10(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataRequest:
    """Version 10."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        topics: list[MetadataRequestTopic] | None = None
        if n != -1:
            if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                topic_id, n = _uB(buf, pos); pos += 17
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: name = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                    name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(MetadataRequestTopic(topic_id, name))
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, n = _oooB(buf, pos); pos += 4
        if n: pos, room = skip_tags(buf, pos, n, room)
        return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_11(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataRequest:
    """Versions 11 to 13."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        topics: list[MetadataRequestTopic] | None = None
        if n != -1:
            if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                topic_id, n = _uB(buf, pos); pos += 17
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: name = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                    name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(MetadataRequestTopic(topic_id, name))
        allow_auto_topic_creation, include_topic_authorized_operations, n = _ooB(buf, pos); pos += 3
        if n: pos, room = skip_tags(buf, pos, n, room)
        return MetadataRequest(topics, allow_auto_topic_creation, False, include_topic_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[MetadataRequest]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_1,
    4: decode_4,
    5: decode_4,
    6: decode_4,
    7: decode_4,
    8: decode_8,
    9: decode_9,
    10: decode_10,
    11: decode_11,
    12: decode_11,
    13: decode_11,
}
