"""Made by `make wire` from Apache Kafka's DescribeLogDirsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_iqqo = struct.Struct(">iqq?").unpack_from
_iqqoB = struct.Struct(">iqq?B").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_iqqo = struct.Struct(">iqq?").pack
_p_iqqox = struct.Struct(">iqq?x").pack
_p_qqox = struct.Struct(">qq?x").pack
_p_qqx = struct.Struct(">qqx").pack
_qqB = struct.Struct(">qqB").unpack_from
_qqoB = struct.Struct(">qq?B").unpack_from


class DescribeLogDirsPartition(Struct, gc=False):
    """The partitions."""

    partition_index: int = 0  # The partition index.
    partition_size: int = 0  # The size of the log segments in this partition in bytes.
    offset_lag: int = 0  # The lag of the log's LEO w.r.t. partition's HW (if it is the current log for the partition) or current replica's LEO (if it is the future log for the partition).
    is_future_key: bool = False  # True if this log is created by AlterReplicaLogDirsRequest and will replace the current log of the replica in the future.


class DescribeLogDirsTopic(Struct, gc=False):
    """The topics."""

    name: str = ""  # The topic name.
    partitions: list[DescribeLogDirsPartition] = []  # The partitions.


class DescribeLogDirsResult(Struct, gc=False):
    """The log directories."""

    error_code: int = 0  # The error code, or 0 if there was no error.
    log_dir: str = ""  # The absolute log directory path.
    topics: list[DescribeLogDirsTopic] = []  # The topics.
    total_bytes: int = -1  # The total size in bytes of the volume the log directory is in. This value does not include the size of data stored in remote storage.
    usable_bytes: int = -1  # The usable size in bytes of the volume the log directory is in. This value does not include the size of data stored in remote storage.
    is_cordoned: bool = False  # True if this log directory is cordoned.


class DescribeLogDirsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    results: list[DescribeLogDirsResult] = []  # The log directories.


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


def encode_1(message: DescribeLogDirsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_i(message.throttle_time_ms)
    results = message.results
    out += _p_i(len(results))
    for one in results:
        out += _p_h(one.error_code)
        log_dir = one.log_dir
        data = log_dir.encode()
        out += _p_h(len(data))
        out += data
        topics = one.topics
        out += _p_i(len(topics))
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            out += _p_h(len(data))
            out += data
            partitions = one_2.partitions
            out += _p_i(len(partitions))
            for one_3 in partitions:
                out += _p_iqqo(one_3.partition_index, one_3.partition_size, one_3.offset_lag, one_3.is_future_key)
    return out


def encode_2(message: DescribeLogDirsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    out += _p_i(message.throttle_time_ms)
    results = message.results
    n = len(results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results:
        out += _p_h(one.error_code)
        log_dir = one.log_dir
        data = log_dir.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in partitions:
                out += _p_iqqox(one_3.partition_index, one_3.partition_size, one_3.offset_lag, one_3.is_future_key)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


def encode_3(message: DescribeLogDirsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    results = message.results
    n = len(results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results:
        out += _p_h(one.error_code)
        log_dir = one.log_dir
        data = log_dir.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in partitions:
                out += _p_iqqox(one_3.partition_index, one_3.partition_size, one_3.offset_lag, one_3.is_future_key)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


def encode_4(message: DescribeLogDirsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    results = message.results
    n = len(results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results:
        out += _p_h(one.error_code)
        log_dir = one.log_dir
        data = log_dir.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in partitions:
                out += _p_iqqox(one_3.partition_index, one_3.partition_size, one_3.offset_lag, one_3.is_future_key)
            out += b"\0"
        out += _p_qqx(one.total_bytes, one.usable_bytes)
    out += b"\0"
    return out


def encode_5(message: DescribeLogDirsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    results = message.results
    n = len(results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results:
        out += _p_h(one.error_code)
        log_dir = one.log_dir
        data = log_dir.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in partitions:
                out += _p_iqqox(one_3.partition_index, one_3.partition_size, one_3.offset_lag, one_3.is_future_key)
            out += b"\0"
        out += _p_qqox(one.total_bytes, one.usable_bytes, one.is_cordoned)
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[DescribeLogDirsResponse]] = {
    1: decode_1,
    2: decode_2,
    3: decode_3,
    4: decode_4,
    5: decode_5,
}
ENCODERS: dict[int, Encoder[DescribeLogDirsResponse]] = {
    1: encode_1,
    2: encode_2,
    3: encode_3,
    4: encode_4,
    5: encode_5,
}
