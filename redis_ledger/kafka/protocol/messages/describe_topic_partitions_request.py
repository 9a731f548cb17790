"""Made by `make generate` from Apache Kafka's DescribeTopicPartitionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_iB = struct.Struct(">iB").unpack_from
_ib = struct.Struct(">ib").unpack_from


class TopicRequest(Struct, gc=False):
    """The topics to fetch details for."""

    name: str = ""  # The topic name.


class Cursor(Struct, gc=False):
    """The first topic and partition index to fetch details for."""

    topic_name: str = ""  # The name for the first topic to process.
    partition_index: int = 0  # The partition index to start with.


class DescribeTopicPartitionsRequest(Struct, gc=False):
    topics: list[TopicRequest] = []  # The topics to fetch details for.
    response_partition_limit: int = 2000  # The maximum number of partitions included in the response.
    cursor: Cursor | None = None  # The first topic and partition index to fetch details for.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeTopicPartitionsRequest:
    """Version 0."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 2 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[TopicRequest] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(TopicRequest(name))
        response_partition_limit, n = _ib(buf, pos); pos += 5
        cursor: Cursor | None = None
        if n >= 0:
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("topic_name", n, end - pos)
            topic_name = buf[pos : pos + n].tobytes().decode(); pos += n
            partition_index, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            cursor = Cursor(topic_name, partition_index)
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeTopicPartitionsRequest(topics, response_partition_limit, cursor)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeTopicPartitionsRequest]] = {
    0: decode_0,
}
