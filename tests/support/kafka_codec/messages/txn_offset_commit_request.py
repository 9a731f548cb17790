"""Made by `make generate` from Apache Kafka's TxnOffsetCommitRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_iq = struct.Struct(">iq").pack
_p_iqi = struct.Struct(">iqi").pack
_p_qh = struct.Struct(">qh").pack
_p_qhi = struct.Struct(">qhi").pack
_p_u = struct.Struct(">16s").pack


def encode_0(message: TxnOffsetCommitRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    transactional_id = message.transactional_id
    data = transactional_id.encode()
    out += _p_h(len(data))
    out += data
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_qh(message.producer_id, message.producer_epoch)
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


def encode_2(message: TxnOffsetCommitRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    transactional_id = message.transactional_id
    data = transactional_id.encode()
    out += _p_h(len(data))
    out += data
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_qh(message.producer_id, message.producer_epoch)
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


def encode_3(message: TxnOffsetCommitRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 5."""
    transactional_id = message.transactional_id
    data = transactional_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_qhi(message.producer_id, message.producer_epoch, message.generation_id_or_member_epoch)
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


def encode_6(message: TxnOffsetCommitRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    transactional_id = message.transactional_id
    data = transactional_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_qhi(message.producer_id, message.producer_epoch, message.generation_id_or_member_epoch)
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


ENCODERS: dict[int, Encoder[TxnOffsetCommitRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
    3: encode_3,
    4: encode_3,
    5: encode_3,
    6: encode_6,
}
