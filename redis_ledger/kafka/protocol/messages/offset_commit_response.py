"""Made by `make wire` from Apache Kafka's OffsetCommitResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_ihx = struct.Struct(">ihx").pack
_p_u = struct.Struct(">16s").pack
_uB = struct.Struct(">16sB").unpack_from


class OffsetCommitResponsePartition(Struct, gc=False):
    """The responses for each partition in the topic."""

    partition_index: int = 0  # The partition index.
    error_code: int = 0  # The error code, or 0 if there was no error.


class OffsetCommitResponseTopic(Struct, gc=False):
    """The responses for each topic."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The topic ID.
    partitions: list[OffsetCommitResponsePartition] = []  # The responses for each partition in the topic.


class OffsetCommitResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[OffsetCommitResponseTopic] = []  # The responses for each topic.


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetCommitResponse:
    """Version 2."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetCommitResponseTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 6 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetCommitResponsePartition] = []
            for _ in range(n):
                partition_index, error_code = _ih(buf, pos); pos += 6
                partitions.append(OffsetCommitResponsePartition(partition_index, error_code))
            topics.append(OffsetCommitResponseTopic(name, NO_UUID, partitions))
        if pos != end: raise left_over(end - pos)
        return OffsetCommitResponse(0, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetCommitResponse:
    """Versions 3 to 7."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetCommitResponseTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 6 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetCommitResponsePartition] = []
            for _ in range(n):
                partition_index, error_code = _ih(buf, pos); pos += 6
                partitions.append(OffsetCommitResponsePartition(partition_index, error_code))
            topics.append(OffsetCommitResponseTopic(name, NO_UUID, partitions))
        if pos != end: raise left_over(end - pos)
        return OffsetCommitResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_8(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetCommitResponse:
    """Versions 8 to 9."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetCommitResponseTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 7 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetCommitResponsePartition] = []
            for _ in range(n):
                partition_index, error_code, n = _ihB(buf, pos); pos += 7
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(OffsetCommitResponsePartition(partition_index, error_code))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(OffsetCommitResponseTopic(name, NO_UUID, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return OffsetCommitResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_10(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetCommitResponse:
    """Version 10."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetCommitResponseTopic] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 7 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetCommitResponsePartition] = []
            for _ in range(n):
                partition_index, error_code, n = _ihB(buf, pos); pos += 7
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(OffsetCommitResponsePartition(partition_index, error_code))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(OffsetCommitResponseTopic("", topic_id, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return OffsetCommitResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_2(message: OffsetCommitResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
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
            out += _p_ih(one_2.partition_index, one_2.error_code)
    return out


def encode_3(message: OffsetCommitResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 7."""
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
            out += _p_ih(one_2.partition_index, one_2.error_code)
    return out


def encode_8(message: OffsetCommitResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 8 to 9."""
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
            out += _p_ihx(one_2.partition_index, one_2.error_code)
        out += b"\0"
    out += b"\0"
    return out


def encode_10(message: OffsetCommitResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 10."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        out += _p_u(one.topic_id)
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_ihx(one_2.partition_index, one_2.error_code)
        out += b"\0"
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[OffsetCommitResponse]] = {
    2: decode_2,
    3: decode_3,
    4: decode_3,
    5: decode_3,
    6: decode_3,
    7: decode_3,
    8: decode_8,
    9: decode_8,
    10: decode_10,
}
ENCODERS: dict[int, Encoder[OffsetCommitResponse]] = {
    2: encode_2,
    3: encode_3,
    4: encode_3,
    5: encode_3,
    6: encode_3,
    7: encode_3,
    8: encode_8,
    9: encode_8,
    10: encode_10,
}
