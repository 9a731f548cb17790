"""Made by `make generate` from Apache Kafka's MetadataRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_o = struct.Struct(">?").pack
_p_ooo = struct.Struct(">???").pack
_p_ooox = struct.Struct(">???x").pack
_p_oox = struct.Struct(">??x").pack
_p_u = struct.Struct(">16s").pack


def encode_0(message: MetadataRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    topics = message.topics
    assert topics is not None, "topics is null"
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        assert name is not None, "name is null"
        data = name.encode()
        out += _p_h(len(data))
        out += data
    return out


def encode_1(message: MetadataRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 3."""
    topics = message.topics
    if topics is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(topics))
        for one in topics:
            name = one.name
            assert name is not None, "name is null"
            data = name.encode()
            out += _p_h(len(data))
            out += data
    return out


def encode_4(message: MetadataRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 7."""
    topics = message.topics
    if topics is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(topics))
        for one in topics:
            name = one.name
            assert name is not None, "name is null"
            data = name.encode()
            out += _p_h(len(data))
            out += data
    out += _p_o(message.allow_auto_topic_creation)
    return out


def encode_8(message: MetadataRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 8."""
    topics = message.topics
    if topics is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(topics))
        for one in topics:
            name = one.name
            assert name is not None, "name is null"
            data = name.encode()
            out += _p_h(len(data))
            out += data
    out += _p_ooo(message.allow_auto_topic_creation, message.include_cluster_authorized_operations, message.include_topic_authorized_operations)
    return out


def encode_9(message: MetadataRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 9."""
    topics = message.topics
    if topics is None: out += b"\0"
    else:
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in topics:
            name = one.name
            assert name is not None, "name is null"
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
    out += _p_ooox(message.allow_auto_topic_creation, message.include_cluster_authorized_operations, message.include_topic_authorized_operations)
    return out


def encode_10(message: MetadataRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 10."""
    topics = message.topics
    if topics is None: out += b"\0"
    else:
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in topics:
            out += _p_u(one.topic_id)
            name = one.name
            if name is None: out += b"\0"
            else:
                data = name.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
    out += _p_ooox(message.allow_auto_topic_creation, message.include_cluster_authorized_operations, message.include_topic_authorized_operations)
    return out


def encode_11(message: MetadataRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 11 to 13."""
    topics = message.topics
    if topics is None: out += b"\0"
    else:
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in topics:
            out += _p_u(one.topic_id)
            name = one.name
            if name is None: out += b"\0"
            else:
                data = name.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
    out += _p_oox(message.allow_auto_topic_creation, message.include_topic_authorized_operations)
    return out


ENCODERS: dict[int, Encoder[MetadataRequest]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_1,
    4: encode_4,
    5: encode_4,
    6: encode_4,
    7: encode_4,
    8: encode_8,
    9: encode_9,
    10: encode_10,
    11: encode_11,
    12: encode_11,
    13: encode_11,
}
