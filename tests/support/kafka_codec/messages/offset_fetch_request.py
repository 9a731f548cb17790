"""Made by `make generate` from Apache Kafka's OffsetFetchRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.offset_fetch_request import OffsetFetchRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ox = struct.Struct(">?x").pack
_p_u = struct.Struct(">16s").pack


def encode_1(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    topics = message.topics
    assert topics is not None, "topics is null"
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partition_indexes = one.partition_indexes
        out += _p_i(len(partition_indexes))
        out += pack_array("i", partition_indexes)
    return out


def encode_2(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 5."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    topics = message.topics
    if topics is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(topics))
        for one in topics:
            name = one.name
            data = name.encode()
            out += _p_h(len(data))
            out += data
            partition_indexes = one.partition_indexes
            out += _p_i(len(partition_indexes))
            out += pack_array("i", partition_indexes)
    return out


def encode_6(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    topics = message.topics
    if topics is None: out += b"\0"
    else:
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in topics:
            name = one.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partition_indexes = one.partition_indexes
            n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partition_indexes)
            out += b"\0"
    out += b"\0"
    return out


def encode_7(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 7."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    topics = message.topics
    if topics is None: out += b"\0"
    else:
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in topics:
            name = one.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partition_indexes = one.partition_indexes
            n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partition_indexes)
            out += b"\0"
    out += _p_ox(message.require_stable)
    return out


def encode_8(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 8."""
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topics = one.topics
        if topics is None: out += b"\0"
        else:
            n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in topics:
                name = one_2.name
                data = name.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                partition_indexes = one_2.partition_indexes
                n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", partition_indexes)
                out += b"\0"
        out += b"\0"
    out += _p_ox(message.require_stable)
    return out


def encode_9(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 9."""
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        member_id = one.member_id
        if member_id is None: out += b"\0"
        else:
            data = member_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.member_epoch)
        topics = one.topics
        if topics is None: out += b"\0"
        else:
            n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in topics:
                name = one_2.name
                data = name.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                partition_indexes = one_2.partition_indexes
                n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", partition_indexes)
                out += b"\0"
        out += b"\0"
    out += _p_ox(message.require_stable)
    return out


def encode_10(message: OffsetFetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 10."""
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        member_id = one.member_id
        if member_id is None: out += b"\0"
        else:
            data = member_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.member_epoch)
        topics = one.topics
        if topics is None: out += b"\0"
        else:
            n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in topics:
                out += _p_u(one_2.topic_id)
                partition_indexes = one_2.partition_indexes
                n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", partition_indexes)
                out += b"\0"
        out += b"\0"
    out += _p_ox(message.require_stable)
    return out


ENCODERS: dict[int, Encoder[OffsetFetchRequest]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
    4: encode_2,
    5: encode_2,
    6: encode_6,
    7: encode_7,
    8: encode_8,
    9: encode_9,
    10: encode_10,
}
