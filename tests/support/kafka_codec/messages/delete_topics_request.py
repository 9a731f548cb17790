"""Made by `make generate` from Apache Kafka's DeleteTopicsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ix = struct.Struct(">ix").pack
_p_ux = struct.Struct(">16sx").pack


def encode_1(message: DeleteTopicsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 3."""
    topic_names = message.topic_names
    out += _p_i(len(topic_names))
    for one in topic_names:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    out += _p_i(message.timeout_ms)
    return out


def encode_4(message: DeleteTopicsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 5."""
    topic_names = message.topic_names
    n = len(topic_names) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topic_names:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_ix(message.timeout_ms)
    return out


def encode_6(message: DeleteTopicsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        if name is None: out += b"\0"
        else:
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ux(one.topic_id)
    out += _p_ix(message.timeout_ms)
    return out


ENCODERS: dict[int, Encoder[DeleteTopicsRequest]] = {
    1: encode_1,
    2: encode_1,
    3: encode_1,
    4: encode_4,
    5: encode_4,
    6: encode_6,
}
