"""Made by `make generate` from Apache Kafka's AddPartitionsToTxnRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_qh = struct.Struct(">qh").pack
_p_qho = struct.Struct(">qh?").pack


def encode_0(message: AddPartitionsToTxnRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    v3_and_below_transactional_id = message.v3_and_below_transactional_id
    data = v3_and_below_transactional_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_qh(message.v3_and_below_producer_id, message.v3_and_below_producer_epoch)
    v3_and_below_topics = message.v3_and_below_topics
    out += _p_i(len(v3_and_below_topics))
    for one in v3_and_below_topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        out += pack_array("i", partitions)
    return out


def encode_3(message: AddPartitionsToTxnRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    v3_and_below_transactional_id = message.v3_and_below_transactional_id
    data = v3_and_below_transactional_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_qh(message.v3_and_below_producer_id, message.v3_and_below_producer_epoch)
    v3_and_below_topics = message.v3_and_below_topics
    n = len(v3_and_below_topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in v3_and_below_topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        out += pack_array("i", partitions)
        out += b"\0"
    out += b"\0"
    return out


def encode_4(message: AddPartitionsToTxnRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 5."""
    transactions = message.transactions
    n = len(transactions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in transactions:
        transactional_id = one.transactional_id
        data = transactional_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_qho(one.producer_id, one.producer_epoch, one.verify_only)
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partitions)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[AddPartitionsToTxnRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_4,
    5: encode_4,
}
