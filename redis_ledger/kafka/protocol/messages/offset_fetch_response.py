"""Made by `make generate` from Apache Kafka's OffsetFetchResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import NO_UUID, ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_hx = struct.Struct(">hx").pack
_p_i = struct.Struct(">i").pack
_p_iq = struct.Struct(">iq").pack
_p_iqi = struct.Struct(">iqi").pack
_p_u = struct.Struct(">16s").pack


class OffsetFetchResponsePartition(Struct, gc=False):
    """The responses per partition."""

    partition_index: int = 0  # The partition index.
    committed_offset: int = 0  # The committed message offset.
    committed_leader_epoch: int = -1  # The leader epoch.
    metadata: str | None = ""  # The partition metadata.
    error_code: int = 0  # The error code, or 0 if there was no error.


class OffsetFetchResponseTopic(Struct, gc=False):
    """The responses per topic."""

    name: str = ""  # The topic name.
    partitions: list[OffsetFetchResponsePartition] = []  # The responses per partition.


class OffsetFetchResponsePartitions(Struct, gc=False):
    """The responses per partition."""

    partition_index: int = 0  # The partition index.
    committed_offset: int = 0  # The committed message offset.
    committed_leader_epoch: int = -1  # The leader epoch.
    metadata: str | None = ""  # The partition metadata.
    error_code: int = 0  # The partition-level error code, or 0 if there was no error.


class OffsetFetchResponseTopics(Struct, gc=False):
    """The responses per topic."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The topic ID.
    partitions: list[OffsetFetchResponsePartitions] = []  # The responses per partition.


class OffsetFetchResponseGroup(Struct, gc=False):
    """The responses per group id."""

    group_id: str = ""  # The group ID.
    topics: list[OffsetFetchResponseTopics] = []  # The responses per topic.
    error_code: int = 0  # The group-level error code, or 0 if there was no error.


class OffsetFetchResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[OffsetFetchResponseTopic] = []  # The responses per topic.
    error_code: int = 0  # The top-level error code, or 0 if there was no error.
    groups: list[OffsetFetchResponseGroup] = []  # The responses per group id.


def encode_1(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
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
            out += _p_iq(one_2.partition_index, one_2.committed_offset)
            metadata = one_2.metadata
            if metadata is None: out += b"\xff\xff"
            else:
                data = metadata.encode()
                out += _p_h(len(data))
                out += data
            out += _p_h(one_2.error_code)
    return out


def encode_2(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
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
            out += _p_iq(one_2.partition_index, one_2.committed_offset)
            metadata = one_2.metadata
            if metadata is None: out += b"\xff\xff"
            else:
                data = metadata.encode()
                out += _p_h(len(data))
                out += data
            out += _p_h(one_2.error_code)
    out += _p_h(message.error_code)
    return out


def encode_3(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
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
            out += _p_iq(one_2.partition_index, one_2.committed_offset)
            metadata = one_2.metadata
            if metadata is None: out += b"\xff\xff"
            else:
                data = metadata.encode()
                out += _p_h(len(data))
                out += data
            out += _p_h(one_2.error_code)
    out += _p_h(message.error_code)
    return out


def encode_5(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
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
            out += _p_iqi(one_2.partition_index, one_2.committed_offset, one_2.committed_leader_epoch)
            metadata = one_2.metadata
            if metadata is None: out += b"\xff\xff"
            else:
                data = metadata.encode()
                out += _p_h(len(data))
                out += data
            out += _p_h(one_2.error_code)
    out += _p_h(message.error_code)
    return out


def encode_6(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 6 to 7."""
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
            out += _p_iqi(one_2.partition_index, one_2.committed_offset, one_2.committed_leader_epoch)
            metadata = one_2.metadata
            if metadata is None: out += b"\0"
            else:
                data = metadata.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += _p_hx(one_2.error_code)
        out += b"\0"
    out += _p_hx(message.error_code)
    return out


def encode_8(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 8 to 9."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
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
                out += _p_iqi(one_3.partition_index, one_3.committed_offset, one_3.committed_leader_epoch)
                metadata = one_3.metadata
                if metadata is None: out += b"\0"
                else:
                    data = metadata.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += _p_hx(one_3.error_code)
            out += b"\0"
        out += _p_hx(one.error_code)
    out += b"\0"
    return out


def encode_10(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 10."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            out += _p_u(one_2.topic_id)
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in partitions:
                out += _p_iqi(one_3.partition_index, one_3.committed_offset, one_3.committed_leader_epoch)
                metadata = one_3.metadata
                if metadata is None: out += b"\0"
                else:
                    data = metadata.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += _p_hx(one_3.error_code)
            out += b"\0"
        out += _p_hx(one.error_code)
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[OffsetFetchResponse]] = {
    1: encode_1,
    2: encode_2,
    3: encode_3,
    4: encode_3,
    5: encode_5,
    6: encode_6,
    7: encode_6,
    8: encode_8,
    9: encode_8,
    10: encode_10,
}
