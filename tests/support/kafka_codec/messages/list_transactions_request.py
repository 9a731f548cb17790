"""Made by `make generate` from Apache Kafka's ListTransactionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.list_transactions_request import ListTransactionsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_q = struct.Struct(">q").pack
_p_qx = struct.Struct(">qx").pack


def encode_0(message: ListTransactionsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    state_filters = message.state_filters
    n = len(state_filters) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in state_filters:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    producer_id_filters = message.producer_id_filters
    n = len(producer_id_filters) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    out += pack_array("q", producer_id_filters)
    out += b"\0"
    return out


def encode_1(message: ListTransactionsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    state_filters = message.state_filters
    n = len(state_filters) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in state_filters:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    producer_id_filters = message.producer_id_filters
    n = len(producer_id_filters) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    out += pack_array("q", producer_id_filters)
    out += _p_qx(message.duration_filter)
    return out


def encode_2(message: ListTransactionsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    state_filters = message.state_filters
    n = len(state_filters) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in state_filters:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    producer_id_filters = message.producer_id_filters
    n = len(producer_id_filters) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    out += pack_array("q", producer_id_filters)
    out += _p_q(message.duration_filter)
    transactional_id_pattern = message.transactional_id_pattern
    if transactional_id_pattern is None: out += b"\0"
    else:
        data = transactional_id_pattern.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[ListTransactionsRequest]] = {
    0: encode_0,
    1: encode_1,
    2: encode_2,
}
