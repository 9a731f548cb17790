"""Made by `make generate` from Apache Kafka's TxnOffsetCommitResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_uB = struct.Struct(">16sB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> TxnOffsetCommitResponse:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[TxnOffsetCommitResponseTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 6 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[TxnOffsetCommitResponsePartition] = []
            for _ in range(n):
                partition_index, error_code = _ih(buf, pos); pos += 6
                partitions.append(TxnOffsetCommitResponsePartition(partition_index, error_code))
            topics.append(TxnOffsetCommitResponseTopic(name, NO_UUID, partitions))
        if pos != end: raise left_over(end - pos)
        return TxnOffsetCommitResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> TxnOffsetCommitResponse:
    """Versions 3 to 5."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[TxnOffsetCommitResponseTopic] = []
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
            partitions: list[TxnOffsetCommitResponsePartition] = []
            for _ in range(n):
                partition_index, error_code, n = _ihB(buf, pos); pos += 7
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(TxnOffsetCommitResponsePartition(partition_index, error_code))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(TxnOffsetCommitResponseTopic(name, NO_UUID, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return TxnOffsetCommitResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> TxnOffsetCommitResponse:
    """Version 6."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[TxnOffsetCommitResponseTopic] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 7 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[TxnOffsetCommitResponsePartition] = []
            for _ in range(n):
                partition_index, error_code, n = _ihB(buf, pos); pos += 7
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(TxnOffsetCommitResponsePartition(partition_index, error_code))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(TxnOffsetCommitResponseTopic("", topic_id, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return TxnOffsetCommitResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[TxnOffsetCommitResponse]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_3,
    5: decode_3,
    6: decode_6,
}
