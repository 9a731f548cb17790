"""Made by `make generate` from Apache Kafka's DeleteRecordsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_iq = struct.Struct(">iq").unpack_from
_iqB = struct.Struct(">iqB").unpack_from


class DeleteRecordsPartition(Struct, gc=False):
    """Each partition that we want to delete records from."""

    partition_index: int = 0  # The partition index.
    offset: int = 0  # The deletion offset. -1 means that records should be truncated to the high watermark.


class DeleteRecordsTopic(Struct, gc=False):
    """Each topic that we want to delete records from."""

    name: str = ""  # The topic name.
    partitions: list[DeleteRecordsPartition] = []  # Each partition that we want to delete records from.


class DeleteRecordsRequest(Struct, gc=False):
    topics: list[DeleteRecordsTopic] = []  # Each topic that we want to delete records from.
    timeout_ms: int = 0  # How long to wait for the deletion to complete, in milliseconds.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteRecordsRequest:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[DeleteRecordsTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 12 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[DeleteRecordsPartition] = []
            for _ in range(n):
                partition_index, offset = _iq(buf, pos); pos += 12
                partitions.append(DeleteRecordsPartition(partition_index, offset))
            topics.append(DeleteRecordsTopic(name, partitions))
        (timeout_ms,) = _i(buf, pos); pos += 4
        return DeleteRecordsRequest(topics, timeout_ms)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteRecordsRequest:
    """Version 2."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[DeleteRecordsTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 13 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[DeleteRecordsPartition] = []
            for _ in range(n):
                partition_index, offset, n = _iqB(buf, pos); pos += 13
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(DeleteRecordsPartition(partition_index, offset))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(DeleteRecordsTopic(name, partitions))
        timeout_ms, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DeleteRecordsRequest(topics, timeout_ms)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DeleteRecordsRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
}
