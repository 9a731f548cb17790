"""Made by `make generate` from Apache Kafka's DescribeLogDirsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from


class DescribableLogDirTopic(Struct, gc=False):
    """Each topic that we want to describe log directories for, or null for all topics."""

    topic: str = ""  # The topic name.
    partitions: list[int] = []  # The partition indexes.


class DescribeLogDirsRequest(Struct, gc=False):
    topics: list[DescribableLogDirTopic] | None = []  # Each topic that we want to describe log directories for, or null for all topics.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeLogDirsRequest:
    """Version 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        topics: list[DescribableLogDirTopic] | None = None
        if n != -1:
            if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
                topic = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                topics.append(DescribableLogDirTopic(topic, partitions))
        return DescribeLogDirsRequest(topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeLogDirsRequest:
    """Versions 2 to 5."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        topics: list[DescribableLogDirTopic] | None = None
        if n != -1:
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
                topic = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(DescribableLogDirTopic(topic, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeLogDirsRequest(topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeLogDirsRequest]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
    4: decode_2,
    5: decode_2,
}
