"""Made by `make generate` from Apache Kafka's CreatePartitionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.create_partitions_request import CreatePartitionsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_io = struct.Struct(">i?").pack
_p_iox = struct.Struct(">i?x").pack


def encode_0(message: CreatePartitionsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_i(one.count)
        assignments = one.assignments
        if assignments is None: out += b"\xff\xff\xff\xff"
        else:
            out += _p_i(len(assignments))
            for one_2 in assignments:
                broker_ids = one_2.broker_ids
                out += _p_i(len(broker_ids))
                out += pack_array("i", broker_ids)
    out += _p_io(message.timeout_ms, message.validate_only)
    return out


def encode_2(message: CreatePartitionsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.count)
        assignments = one.assignments
        if assignments is None: out += b"\0"
        else:
            n = len(assignments) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in assignments:
                broker_ids = one_2.broker_ids
                n = len(broker_ids) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", broker_ids)
                out += b"\0"
        out += b"\0"
    out += _p_iox(message.timeout_ms, message.validate_only)
    return out


ENCODERS: dict[int, Encoder[CreatePartitionsRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
    3: encode_2,
}
