"""Made by `make generate` from Apache Kafka's ListOffsetsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.list_offsets_response import ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ihqq = struct.Struct(">ihqq").unpack_from
_ihqqi = struct.Struct(">ihqqi").unpack_from
_ihqqiB = struct.Struct(">ihqqiB").unpack_from
_ii = struct.Struct(">ii").unpack_from


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListOffsetsResponse:
    """Version 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[ListOffsetsTopicResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 22 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[ListOffsetsPartitionResponse] = []
            for _ in range(n):
                partition_index, error_code, timestamp, offset = _ihqq(buf, pos); pos += 22
                partitions.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, -1))
            topics.append(ListOffsetsTopicResponse(name, partitions))
        if pos != end: raise left_over(end - pos)
        return ListOffsetsResponse(0, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListOffsetsResponse:
    """Versions 2 to 3."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[ListOffsetsTopicResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 22 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[ListOffsetsPartitionResponse] = []
            for _ in range(n):
                partition_index, error_code, timestamp, offset = _ihqq(buf, pos); pos += 22
                partitions.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, -1))
            topics.append(ListOffsetsTopicResponse(name, partitions))
        if pos != end: raise left_over(end - pos)
        return ListOffsetsResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListOffsetsResponse:
    """Versions 4 to 5."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[ListOffsetsTopicResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 26 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[ListOffsetsPartitionResponse] = []
            for _ in range(n):
                partition_index, error_code, timestamp, offset, leader_epoch = _ihqqi(buf, pos); pos += 26
                partitions.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch))
            topics.append(ListOffsetsTopicResponse(name, partitions))
        if pos != end: raise left_over(end - pos)
        return ListOffsetsResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListOffsetsResponse:
    """Versions 6 to 10."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[ListOffsetsTopicResponse] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 27 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[ListOffsetsPartitionResponse] = []
            for _ in range(n):
                partition_index, error_code, timestamp, offset, leader_epoch, n = _ihqqiB(buf, pos); pos += 27
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(ListOffsetsTopicResponse(name, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return ListOffsetsResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ListOffsetsResponse]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
    4: decode_4,
    5: decode_4,
    6: decode_6,
    7: decode_6,
    8: decode_6,
    9: decode_6,
    10: decode_6,
}
