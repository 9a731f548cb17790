"""Made by `make wire` from Apache Kafka's ListOffsetsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ihqq = struct.Struct(">ihqq").unpack_from
_ihqqi = struct.Struct(">ihqqi").unpack_from
_ihqqiB = struct.Struct(">ihqqiB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ihqq = struct.Struct(">ihqq").pack
_p_ihqqi = struct.Struct(">ihqqi").pack
_p_ihqqix = struct.Struct(">ihqqix").pack


class ListOffsetsPartitionResponse(Struct, gc=False):
    """Each partition in the response."""

    partition_index: int = 0  # The partition index.
    error_code: int = 0  # The partition error code, or 0 if there was no error.
    timestamp: int = -1  # The timestamp associated with the returned offset.
    offset: int = -1  # The returned offset.
    leader_epoch: int = -1  # The leader epoch associated with the returned offset.


class ListOffsetsTopicResponse(Struct, gc=False):
    """Each topic in the response."""

    name: str = ""  # The topic name.
    partitions: list[ListOffsetsPartitionResponse] = []  # Each partition in the response.


class ListOffsetsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[ListOffsetsTopicResponse] = []  # Each topic in the response.


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


def encode_1(message: ListOffsetsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_ihqq(one_2.partition_index, one_2.error_code, one_2.timestamp, one_2.offset)
    return out


def encode_2(message: ListOffsetsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_ihqq(one_2.partition_index, one_2.error_code, one_2.timestamp, one_2.offset)
    return out


def encode_4(message: ListOffsetsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 5."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_ihqqi(one_2.partition_index, one_2.error_code, one_2.timestamp, one_2.offset, one_2.leader_epoch)
    return out


def encode_6(message: ListOffsetsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 6 to 10."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_ihqqix(one_2.partition_index, one_2.error_code, one_2.timestamp, one_2.offset, one_2.leader_epoch)
        out += b"\0"
    out += b"\0"
    return out


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
ENCODERS: dict[int, Encoder[ListOffsetsResponse]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
    4: encode_4,
    5: encode_4,
    6: encode_6,
    7: encode_6,
    8: encode_6,
    9: encode_6,
    10: encode_6,
}
