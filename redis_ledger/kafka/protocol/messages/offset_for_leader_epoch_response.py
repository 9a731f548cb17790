"""Made by `make wire` from Apache Kafka's OffsetForLeaderEpochResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_hiiq = struct.Struct(">hiiq").unpack_from
_hiiqB = struct.Struct(">hiiqB").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_p_h = struct.Struct(">h").pack
_p_hiiq = struct.Struct(">hiiq").pack
_p_hiiqx = struct.Struct(">hiiqx").pack
_p_i = struct.Struct(">i").pack


class EpochEndOffset(Struct, gc=False):
    """Each partition in the topic we fetched offsets for."""

    error_code: int = 0  # The error code 0, or if there was no error.
    partition: int = 0  # The partition index.
    leader_epoch: int = -1  # The leader epoch of the partition.
    end_offset: int = -1  # The end offset of the epoch.


class OffsetForLeaderTopicResult(Struct, gc=False):
    """Each topic we fetched offsets for."""

    topic: str = ""  # The topic name.
    partitions: list[EpochEndOffset] = []  # Each partition in the topic we fetched offsets for.


class OffsetForLeaderEpochResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[OffsetForLeaderTopicResult] = []  # Each topic we fetched offsets for.


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetForLeaderEpochResponse:
    """Versions 2 to 3."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetForLeaderTopicResult] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[EpochEndOffset] = []
            for _ in range(n):
                error_code, partition, leader_epoch, end_offset = _hiiq(buf, pos); pos += 18
                partitions.append(EpochEndOffset(error_code, partition, leader_epoch, end_offset))
            topics.append(OffsetForLeaderTopicResult(topic, partitions))
        if pos != end: raise left_over(end - pos)
        return OffsetForLeaderEpochResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetForLeaderEpochResponse:
    """Version 4."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetForLeaderTopicResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 19 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[EpochEndOffset] = []
            for _ in range(n):
                error_code, partition, leader_epoch, end_offset, n = _hiiqB(buf, pos); pos += 19
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(EpochEndOffset(error_code, partition, leader_epoch, end_offset))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(OffsetForLeaderTopicResult(topic, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return OffsetForLeaderEpochResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_2(message: OffsetForLeaderEpochResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_hiiq(one_2.error_code, one_2.partition, one_2.leader_epoch, one_2.end_offset)
    return out


def encode_4(message: OffsetForLeaderEpochResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        topic = one.topic
        data = topic.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_hiiqx(one_2.error_code, one_2.partition, one_2.leader_epoch, one_2.end_offset)
        out += b"\0"
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[OffsetForLeaderEpochResponse]] = {
    2: decode_2,
    3: decode_2,
    4: decode_4,
}
ENCODERS: dict[int, Encoder[OffsetForLeaderEpochResponse]] = {
    2: encode_2,
    3: encode_2,
    4: encode_4,
}
