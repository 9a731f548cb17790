"""Made by `make generate` from Apache Kafka's DescribeLogDirsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_log_dirs_response import DescribeLogDirsPartition, DescribeLogDirsResponse, DescribeLogDirsResult, DescribeLogDirsTopic
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_iqqo = struct.Struct(">iqq?").unpack_from
_iqqoB = struct.Struct(">iqq?B").unpack_from
_qqB = struct.Struct(">qqB").unpack_from
_qqoB = struct.Struct(">qq?B").unpack_from


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeLogDirsResponse:
    """Version 1."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 8 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DescribeLogDirsResult] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("log_dir", n, end - pos)
            log_dir = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[DescribeLogDirsTopic] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 21 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[DescribeLogDirsPartition] = []
                for _ in range(n):
                    partition_index, partition_size, offset_lag, is_future_key = _iqqo(buf, pos); pos += 21
                    partitions.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key))
                topics.append(DescribeLogDirsTopic(name, partitions))
            results.append(DescribeLogDirsResult(error_code, log_dir, topics, -1, -1, False))
        if pos != end: raise left_over(end - pos)
        return DescribeLogDirsResponse(throttle_time_ms, 0, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeLogDirsResponse:
    """Version 2."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 5 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DescribeLogDirsResult] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("log_dir", n, end - pos)
            log_dir = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[DescribeLogDirsTopic] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 22 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[DescribeLogDirsPartition] = []
                for _ in range(n):
                    partition_index, partition_size, offset_lag, is_future_key, n = _iqqoB(buf, pos); pos += 22
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    partitions.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(DescribeLogDirsTopic(name, partitions))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            results.append(DescribeLogDirsResult(error_code, log_dir, topics, -1, -1, False))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeLogDirsResponse(throttle_time_ms, 0, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeLogDirsResponse:
    """Version 3."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 5 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DescribeLogDirsResult] = []
        for _ in range(n):
            error_code_2, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("log_dir", n, end - pos)
            log_dir = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[DescribeLogDirsTopic] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 22 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[DescribeLogDirsPartition] = []
                for _ in range(n):
                    partition_index, partition_size, offset_lag, is_future_key, n = _iqqoB(buf, pos); pos += 22
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    partitions.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(DescribeLogDirsTopic(name, partitions))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            results.append(DescribeLogDirsResult(error_code_2, log_dir, topics, -1, -1, False))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeLogDirsResponse(throttle_time_ms, error_code, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeLogDirsResponse:
    """Version 4."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 21 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DescribeLogDirsResult] = []
        for _ in range(n):
            error_code_2, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("log_dir", n, end - pos)
            log_dir = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[DescribeLogDirsTopic] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 22 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[DescribeLogDirsPartition] = []
                for _ in range(n):
                    partition_index, partition_size, offset_lag, is_future_key, n = _iqqoB(buf, pos); pos += 22
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    partitions.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(DescribeLogDirsTopic(name, partitions))
            total_bytes, usable_bytes, n = _qqB(buf, pos); pos += 17
            if n: pos, room = skip_tags(buf, pos, n, room)
            results.append(DescribeLogDirsResult(error_code_2, log_dir, topics, total_bytes, usable_bytes, False))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeLogDirsResponse(throttle_time_ms, error_code, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeLogDirsResponse:
    """Version 5."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 22 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DescribeLogDirsResult] = []
        for _ in range(n):
            error_code_2, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("log_dir", n, end - pos)
            log_dir = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[DescribeLogDirsTopic] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 22 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[DescribeLogDirsPartition] = []
                for _ in range(n):
                    partition_index, partition_size, offset_lag, is_future_key, n = _iqqoB(buf, pos); pos += 22
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    partitions.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(DescribeLogDirsTopic(name, partitions))
            total_bytes, usable_bytes, is_cordoned, n = _qqoB(buf, pos); pos += 18
            if n: pos, room = skip_tags(buf, pos, n, room)
            results.append(DescribeLogDirsResult(error_code_2, log_dir, topics, total_bytes, usable_bytes, is_cordoned))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeLogDirsResponse(throttle_time_ms, error_code, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeLogDirsResponse]] = {
    1: decode_1,
    2: decode_2,
    3: decode_3,
    4: decode_4,
    5: decode_5,
}
