"""Made by `make wire` from Apache Kafka's DescribeTopicPartitionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, long_length, long_string, skip_tags, too_many, uvarint

_iB = struct.Struct(">iB").unpack_from
_ib = struct.Struct(">ib").unpack_from
_p_i = struct.Struct(">i").pack
_p_ix = struct.Struct(">ix").pack


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


def encode_0(message: DescribeTopicPartitionsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += _p_i(message.response_partition_limit)
    cursor = message.cursor
    if cursor is None: out += b"\xff"
    else:
        out += b"\x01"
        topic_name = cursor.topic_name
        data = topic_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ix(cursor.partition_index)
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[DescribeTopicPartitionsRequest]] = {
    0: decode_0,
}
ENCODERS: dict[int, Encoder[DescribeTopicPartitionsRequest]] = {
    0: encode_0,
}
