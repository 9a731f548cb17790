"""Made by `make generate` from Apache Kafka's WriteTxnMarkersRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_ibx = struct.Struct(">ibx").pack
_p_ix = struct.Struct(">ix").pack
_p_qho = struct.Struct(">qh?").pack


def encode_1(message: WriteTxnMarkersRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    markers = message.markers
    n = len(markers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in markers:
        out += _p_qho(one.producer_id, one.producer_epoch, one.transaction_result)
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partition_indexes = one_2.partition_indexes
            n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partition_indexes)
            out += b"\0"
        out += _p_ix(one.coordinator_epoch)
    out += b"\0"
    return out


def encode_2(message: WriteTxnMarkersRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    markers = message.markers
    n = len(markers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in markers:
        out += _p_qho(one.producer_id, one.producer_epoch, one.transaction_result)
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partition_indexes = one_2.partition_indexes
            n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partition_indexes)
            out += b"\0"
        out += _p_ibx(one.coordinator_epoch, one.transaction_version)
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[WriteTxnMarkersRequest]] = {
    1: encode_1,
    2: encode_2,
}
