"""Made by `make generate` from Apache Kafka's OffsetCommitRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.offset_commit_request import OffsetCommitRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_iq = struct.Struct(">iq").pack
_p_iqi = struct.Struct(">iqi").pack
_p_q = struct.Struct(">q").pack
_p_u = struct.Struct(">16s").pack


def encode_2(message: OffsetCommitRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 4."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.generation_id_or_member_epoch)
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_q(message.retention_time_ms)
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
            committed_metadata = one_2.committed_metadata
            if committed_metadata is None: out += b"\xff\xff"
            else:
                data = committed_metadata.encode()
                out += _p_h(len(data))
                out += data
    return out


def encode_5(message: OffsetCommitRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.generation_id_or_member_epoch)
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
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
            committed_metadata = one_2.committed_metadata
            if committed_metadata is None: out += b"\xff\xff"
            else:
                data = committed_metadata.encode()
                out += _p_h(len(data))
                out += data
    return out


def encode_6(message: OffsetCommitRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.generation_id_or_member_epoch)
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
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
            committed_metadata = one_2.committed_metadata
            if committed_metadata is None: out += b"\xff\xff"
            else:
                data = committed_metadata.encode()
                out += _p_h(len(data))
                out += data
    return out


def encode_7(message: OffsetCommitRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 7."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.generation_id_or_member_epoch)
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    group_instance_id = message.group_instance_id
    if group_instance_id is None: out += b"\xff\xff"
    else:
        data = group_instance_id.encode()
        out += _p_h(len(data))
        out += data
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
            committed_metadata = one_2.committed_metadata
            if committed_metadata is None: out += b"\xff\xff"
            else:
                data = committed_metadata.encode()
                out += _p_h(len(data))
                out += data
    return out


def encode_8(message: OffsetCommitRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 8 to 9."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.generation_id_or_member_epoch)
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    group_instance_id = message.group_instance_id
    if group_instance_id is None: out += b"\0"
    else:
        data = group_instance_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
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
            committed_metadata = one_2.committed_metadata
            if committed_metadata is None: out += b"\0"
            else:
                data = committed_metadata.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


def encode_10(message: OffsetCommitRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 10."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.generation_id_or_member_epoch)
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    group_instance_id = message.group_instance_id
    if group_instance_id is None: out += b"\0"
    else:
        data = group_instance_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        out += _p_u(one.topic_id)
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_iqi(one_2.partition_index, one_2.committed_offset, one_2.committed_leader_epoch)
            committed_metadata = one_2.committed_metadata
            if committed_metadata is None: out += b"\0"
            else:
                data = committed_metadata.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[OffsetCommitRequest]] = {
    2: encode_2,
    3: encode_2,
    4: encode_2,
    5: encode_5,
    6: encode_6,
    7: encode_7,
    8: encode_8,
    9: encode_8,
    10: encode_10,
}
