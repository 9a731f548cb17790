"""Made by `make generate` from Apache Kafka's OffsetDeleteRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from


class OffsetDeleteRequestPartition(Struct, gc=False):
    """Each partition to delete offsets for."""

    partition_index: int = 0  # The partition index.


class OffsetDeleteRequestTopic(Struct, gc=False):
    """The topics to delete offsets for."""

    name: str = ""  # The topic name.
    partitions: list[OffsetDeleteRequestPartition] = []  # Each partition to delete offsets for.


class OffsetDeleteRequest(Struct, gc=False):
    group_id: str = ""  # The unique group identifier.
    topics: list[OffsetDeleteRequestTopic] = []  # The topics to delete offsets for.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetDeleteRequest:
    """Version 0."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetDeleteRequestTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetDeleteRequestPartition] = []
            for _ in range(n):
                (partition_index,) = _i(buf, pos); pos += 4
                partitions.append(OffsetDeleteRequestPartition(partition_index))
            topics.append(OffsetDeleteRequestTopic(name, partitions))
        return OffsetDeleteRequest(group_id, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[OffsetDeleteRequest]] = {
    0: decode_0,
}
