"""Made by `make generate` from Apache Kafka's EndTxnRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_qho = struct.Struct(">qh?").pack
_p_qhox = struct.Struct(">qh?x").pack


def encode_0(message: EndTxnRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    transactional_id = message.transactional_id
    data = transactional_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_qho(message.producer_id, message.producer_epoch, message.committed)
    return out


def encode_3(message: EndTxnRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 5."""
    transactional_id = message.transactional_id
    data = transactional_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_qhox(message.producer_id, message.producer_epoch, message.committed)
    return out


ENCODERS: dict[int, Encoder[EndTxnRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_3,
    5: encode_3,
}
