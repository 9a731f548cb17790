"""Made by `make generate` from Apache Kafka's AddOffsetsToTxnRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_qh = struct.Struct(">qh").pack


def encode_0(message: AddOffsetsToTxnRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    transactional_id = message.transactional_id
    data = transactional_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_qh(message.producer_id, message.producer_epoch)
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    return out


def encode_3(message: AddOffsetsToTxnRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
    transactional_id = message.transactional_id
    data = transactional_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_qh(message.producer_id, message.producer_epoch)
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[AddOffsetsToTxnRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_3,
}
