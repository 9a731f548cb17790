"""Made by `make generate` from Apache Kafka's ListOffsetsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.list_offsets_request import ListOffsetsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ib = struct.Struct(">ib").pack
_p_iiq = struct.Struct(">iiq").pack
_p_iiqx = struct.Struct(">iiqx").pack
_p_iq = struct.Struct(">iq").pack
_p_ix = struct.Struct(">ix").pack


def encode_1(message: ListOffsetsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_i(message.replica_id)
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
            out += _p_iq(one_2.partition_index, one_2.timestamp)
    return out


def encode_2(message: ListOffsetsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    out += _p_ib(message.replica_id, message.isolation_level)
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
            out += _p_iq(one_2.partition_index, one_2.timestamp)
    return out


def encode_4(message: ListOffsetsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 5."""
    out += _p_ib(message.replica_id, message.isolation_level)
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
            out += _p_iiq(one_2.partition_index, one_2.current_leader_epoch, one_2.timestamp)
    return out


def encode_6(message: ListOffsetsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 6 to 9."""
    out += _p_ib(message.replica_id, message.isolation_level)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_iiqx(one_2.partition_index, one_2.current_leader_epoch, one_2.timestamp)
        out += b"\0"
    out += b"\0"
    return out


def encode_10(message: ListOffsetsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 10."""
    out += _p_ib(message.replica_id, message.isolation_level)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_iiqx(one_2.partition_index, one_2.current_leader_epoch, one_2.timestamp)
        out += b"\0"
    out += _p_ix(message.timeout_ms)
    return out


ENCODERS: dict[int, Encoder[ListOffsetsRequest]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
    4: encode_4,
    5: encode_4,
    6: encode_6,
    7: encode_6,
    8: encode_6,
    9: encode_6,
    10: encode_10,
}
