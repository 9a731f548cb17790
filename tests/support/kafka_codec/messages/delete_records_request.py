"""Made by `make generate` from Apache Kafka's DeleteRecordsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.delete_records_request import DeleteRecordsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_iq = struct.Struct(">iq").pack
_p_iqx = struct.Struct(">iqx").pack
_p_ix = struct.Struct(">ix").pack


def encode_0(message: DeleteRecordsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
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
            out += _p_iq(one_2.partition_index, one_2.offset)
    out += _p_i(message.timeout_ms)
    return out


def encode_2(message: DeleteRecordsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_iqx(one_2.partition_index, one_2.offset)
        out += b"\0"
    out += _p_ix(message.timeout_ms)
    return out


ENCODERS: dict[int, Encoder[DeleteRecordsRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
}
