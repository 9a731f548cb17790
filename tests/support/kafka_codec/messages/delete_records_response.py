"""Made by `make generate` from Apache Kafka's DeleteRecordsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.delete_records_response import DeleteRecordsPartitionResult, DeleteRecordsResponse, DeleteRecordsTopicResult
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_iqh = struct.Struct(">iqh").unpack_from
_iqhB = struct.Struct(">iqhB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteRecordsResponse:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[DeleteRecordsTopicResult] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 14 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[DeleteRecordsPartitionResult] = []
            for _ in range(n):
                partition_index, low_watermark, error_code = _iqh(buf, pos); pos += 14
                partitions.append(DeleteRecordsPartitionResult(partition_index, low_watermark, error_code))
            topics.append(DeleteRecordsTopicResult(name, partitions))
        if pos != end: raise left_over(end - pos)
        return DeleteRecordsResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteRecordsResponse:
    """Version 2."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[DeleteRecordsTopicResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 15 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[DeleteRecordsPartitionResult] = []
            for _ in range(n):
                partition_index, low_watermark, error_code, n = _iqhB(buf, pos); pos += 15
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(DeleteRecordsPartitionResult(partition_index, low_watermark, error_code))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(DeleteRecordsTopicResult(name, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DeleteRecordsResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DeleteRecordsResponse]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
}
