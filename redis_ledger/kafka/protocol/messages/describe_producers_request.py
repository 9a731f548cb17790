"""Made by `make generate` from Apache Kafka's DescribeProducersRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, long_length, long_string, skip_tags, too_many



class TopicRequest(Struct, gc=False):
    """The topics to list producers for."""

    name: str = ""  # The topic name.
    partition_indexes: list[int] = []  # The indexes of the partitions to list producers for.


class DescribeProducersRequest(Struct, gc=False):
    topics: list[TopicRequest] = []  # The topics to list producers for.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeProducersRequest:
    """Version 0."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[TopicRequest] = []
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
            topics.append(TopicRequest(name, partition_indexes))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeProducersRequest(topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeProducersRequest]] = {
    0: decode_0,
}
