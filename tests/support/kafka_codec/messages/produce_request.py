"""Made by `make generate` from Apache Kafka's ProduceRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.produce_request import ProduceRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, put_records, records_bytes, uvarint

_p_h = struct.Struct(">h").pack
_p_hi = struct.Struct(">hi").pack
_p_i = struct.Struct(">i").pack
_p_u = struct.Struct(">16s").pack


def encode_3(message: ProduceRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 8."""
    transactional_id = message.transactional_id
    if transactional_id is None: out += b"\xff\xff"
    else:
        data = transactional_id.encode()
        out += _p_h(len(data))
        out += data
    out += _p_hi(message.acks, message.timeout_ms)
    topic_data = message.topic_data
    out += _p_i(len(topic_data))
    for one in topic_data:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partition_data = one.partition_data
        out += _p_i(len(partition_data))
        for one_2 in partition_data:
            out += _p_i(one_2.index)
            records = one_2.records
            if records is None: out += b"\xff\xff\xff\xff"
            else:
                out += _p_i(records_bytes(records))
                out = put_records(out, chunks, records)
    return out


def encode_9(message: ProduceRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 9 to 12."""
    transactional_id = message.transactional_id
    if transactional_id is None: out += b"\0"
    else:
        data = transactional_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_hi(message.acks, message.timeout_ms)
    topic_data = message.topic_data
    n = len(topic_data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topic_data:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partition_data = one.partition_data
        n = len(partition_data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partition_data:
            out += _p_i(one_2.index)
            records = one_2.records
            if records is None: out += b"\0"
            else:
                n = records_bytes(records) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out = put_records(out, chunks, records)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


def encode_13(message: ProduceRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 13."""
    transactional_id = message.transactional_id
    if transactional_id is None: out += b"\0"
    else:
        data = transactional_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_hi(message.acks, message.timeout_ms)
    topic_data = message.topic_data
    n = len(topic_data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topic_data:
        out += _p_u(one.topic_id)
        partition_data = one.partition_data
        n = len(partition_data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partition_data:
            out += _p_i(one_2.index)
            records = one_2.records
            if records is None: out += b"\0"
            else:
                n = records_bytes(records) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out = put_records(out, chunks, records)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[ProduceRequest]] = {
    3: encode_3,
    4: encode_3,
    5: encode_3,
    6: encode_3,
    7: encode_3,
    8: encode_3,
    9: encode_9,
    10: encode_9,
    11: encode_9,
    12: encode_9,
    13: encode_13,
}
