"""Made by `make generate` from Apache Kafka's InitProducerIdRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_iqhx = struct.Struct(">iqhx").pack
_p_ix = struct.Struct(">ix").pack


def encode_0(message: InitProducerIdRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    transactional_id = message.transactional_id
    if transactional_id is None: out += b"\xff\xff"
    else:
        data = transactional_id.encode()
        out += _p_h(len(data))
        out += data
    out += _p_i(message.transaction_timeout_ms)
    return out


def encode_2(message: InitProducerIdRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    transactional_id = message.transactional_id
    if transactional_id is None: out += b"\0"
    else:
        data = transactional_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_ix(message.transaction_timeout_ms)
    return out


def encode_3(message: InitProducerIdRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 5."""
    transactional_id = message.transactional_id
    if transactional_id is None: out += b"\0"
    else:
        data = transactional_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_iqhx(message.transaction_timeout_ms, message.producer_id, message.producer_epoch)
    return out


ENCODERS: dict[int, Encoder[InitProducerIdRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
    3: encode_3,
    4: encode_3,
    5: encode_3,
}
