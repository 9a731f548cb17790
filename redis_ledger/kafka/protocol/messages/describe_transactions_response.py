"""Made by `make generate` from Apache Kafka's DescribeTransactionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_iqqh = struct.Struct(">iqqh").pack


class TopicData(Struct, gc=False):
    """The set of partitions included in the current transaction (if active). When a transaction is preparing to commit or abort, this will include only partitions which do not have markers."""

    topic: str = ""  # The topic name.
    partitions: list[int] = []  # The partition ids included in the current transaction.


class TransactionState(Struct, gc=False):
    """The current state of the transaction."""

    error_code: int = 0  # The error code.
    transactional_id: str = ""  # The transactional id.
    transaction_state: str = ""  # The current transaction state of the producer.
    transaction_timeout_ms: int = 0  # The timeout in milliseconds for the transaction.
    transaction_start_time_ms: int = 0  # The start time of the transaction in milliseconds.
    producer_id: int = 0  # The current producer id associated with the transaction.
    producer_epoch: int = 0  # The current epoch associated with the producer id.
    topics: list[TopicData] = []  # The set of partitions included in the current transaction (if active). When a transaction is preparing to commit or abort, this will include only partitions which do not have markers.


class DescribeTransactionsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    transaction_states: list[TransactionState] = []  # The current state of the transaction.


def encode_0(message: DescribeTransactionsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_i(message.throttle_time_ms)
    transaction_states = message.transaction_states
    n = len(transaction_states) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in transaction_states:
        out += _p_h(one.error_code)
        transactional_id = one.transactional_id
        data = transactional_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        transaction_state = one.transaction_state
        data = transaction_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_iqqh(one.transaction_timeout_ms, one.transaction_start_time_ms, one.producer_id, one.producer_epoch)
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            topic = one_2.topic
            data = topic.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partitions)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeTransactionsResponse]] = {
    0: encode_0,
}
