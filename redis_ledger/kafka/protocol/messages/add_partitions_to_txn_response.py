"""Made by `make generate` from Apache Kafka's AddPartitionsToTxnResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_ihx = struct.Struct(">ihx").pack


class AddPartitionsToTxnPartitionResult(Struct, gc=False):
    """The results for each partition."""

    partition_index: int = 0  # The partition indexes.
    partition_error_code: int = 0  # The response error code.


class AddPartitionsToTxnTopicResult(Struct, gc=False):
    """The results for each topic."""

    name: str = ""  # The topic name.
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []  # The results for each partition.


class AddPartitionsToTxnResult(Struct, gc=False):
    """Results categorized by transactional ID."""

    transactional_id: str = ""  # The transactional id corresponding to the transaction.
    topic_results: list[AddPartitionsToTxnTopicResult] = []  # The results for each topic.


class AddPartitionsToTxnResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # Duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The response top level error code.
    results_by_transaction: list[AddPartitionsToTxnResult] = []  # Results categorized by transactional ID.
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []  # The results for each topic.


def encode_0(message: AddPartitionsToTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    out += _p_i(message.throttle_time_ms)
    results_by_topic_v3_and_below = message.results_by_topic_v3_and_below
    out += _p_i(len(results_by_topic_v3_and_below))
    for one in results_by_topic_v3_and_below:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        results_by_partition = one.results_by_partition
        out += _p_i(len(results_by_partition))
        for one_2 in results_by_partition:
            out += _p_ih(one_2.partition_index, one_2.partition_error_code)
    return out


def encode_3(message: AddPartitionsToTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_i(message.throttle_time_ms)
    results_by_topic_v3_and_below = message.results_by_topic_v3_and_below
    n = len(results_by_topic_v3_and_below) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results_by_topic_v3_and_below:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        results_by_partition = one.results_by_partition
        n = len(results_by_partition) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in results_by_partition:
            out += _p_ihx(one_2.partition_index, one_2.partition_error_code)
        out += b"\0"
    out += b"\0"
    return out


def encode_4(message: AddPartitionsToTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 5."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    results_by_transaction = message.results_by_transaction
    n = len(results_by_transaction) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results_by_transaction:
        transactional_id = one.transactional_id
        data = transactional_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topic_results = one.topic_results
        n = len(topic_results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topic_results:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            results_by_partition = one_2.results_by_partition
            n = len(results_by_partition) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in results_by_partition:
                out += _p_ihx(one_3.partition_index, one_3.partition_error_code)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[AddPartitionsToTxnResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_4,
    5: encode_4,
}
