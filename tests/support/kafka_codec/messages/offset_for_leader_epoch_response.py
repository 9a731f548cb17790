"""Made by `make generate` from Apache Kafka's OffsetForLeaderEpochResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.offset_for_leader_epoch_response import EpochEndOffset, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_hiiq = struct.Struct(">hiiq").unpack_from
_hiiqB = struct.Struct(">hiiqB").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from


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


DECODERS: dict[int, Decoder[OffsetForLeaderEpochResponse]] = {
    2: decode_2,
    3: decode_2,
    4: decode_4,
}
