"""Made by `make generate` from Apache Kafka's DescribeLogDirsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_iqqo = struct.Struct(">iqq?").pack
_p_iqqox = struct.Struct(">iqq?x").pack
_p_qqox = struct.Struct(">qq?x").pack
_p_qqx = struct.Struct(">qqx").pack


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


ENCODERS: dict[int, Encoder[DescribeLogDirsResponse]] = {
    1: encode_1,
    2: encode_2,
    3: encode_3,
    4: encode_4,
    5: encode_5,
}
