"""Made by `make generate` from Apache Kafka's DeleteTopicsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_uB = struct.Struct(">16sB").unpack_from


class DeleteTopicState(Struct, gc=False):
    """The name or topic ID of the topic."""

    name: str | None = None  # The topic name.
    topic_id: bytes = NO_UUID  # The unique topic ID.


class DeleteTopicsRequest(Struct, gc=False):
    topics: list[DeleteTopicState] = []  # The name or topic ID of the topic.
    topic_names: list[str] = []  # The names of the topics to delete.
    timeout_ms: int = 0  # The length of time in milliseconds to wait for the deletions to complete.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteTopicsRequest:
    """Versions 1 to 3."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 2 <= end - pos: raise bad_length("topic_names", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topic_names: list[str] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic_names", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            topic_names.append(one)
        (timeout_ms,) = _i(buf, pos); pos += 4
        return DeleteTopicsRequest([], topic_names, timeout_ms)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteTopicsRequest:
    """Versions 4 to 5."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("topic_names", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topic_names: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("topic_names", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            topic_names.append(one)
        timeout_ms, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DeleteTopicsRequest([], topic_names, timeout_ms)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteTopicsRequest:
    """Version 6."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[DeleteTopicState] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: name = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
            topic_id, n = _uB(buf, pos); pos += 17
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(DeleteTopicState(name, topic_id))
        timeout_ms, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DeleteTopicsRequest(topics, [], timeout_ms)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DeleteTopicsRequest]] = {
    1: decode_1,
    2: decode_1,
    3: decode_1,
    4: decode_4,
    5: decode_4,
    6: decode_6,
}
