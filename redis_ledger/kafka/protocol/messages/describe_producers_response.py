"""Made by `make generate` from Apache Kafka's DescribeProducersResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_qiiqiqx = struct.Struct(">qiiqiqx").pack


class ProducerState(Struct, gc=False):
    """The active producers for the partition."""

    producer_id: int = 0  # The producer id.
    producer_epoch: int = 0  # The producer epoch.
    last_sequence: int = -1  # The last sequence number sent by the producer.
    last_timestamp: int = -1  # The last timestamp sent by the producer.
    coordinator_epoch: int = 0  # The current epoch of the producer group.
    current_txn_start_offset: int = -1  # The current transaction start offset of the producer.


class PartitionResponse(Struct, gc=False):
    """Each partition in the response."""

    partition_index: int = 0  # The partition index.
    error_code: int = 0  # The partition error code, or 0 if there was no error.
    error_message: str | None = None  # The partition error message, which may be null if no additional details are available.
    active_producers: list[ProducerState] = []  # The active producers for the partition.


class TopicResponse(Struct, gc=False):
    """Each topic in the response."""

    name: str = ""  # The topic name.
    partitions: list[PartitionResponse] = []  # Each partition in the response.


class DescribeProducersResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[TopicResponse] = []  # Each topic in the response.


def encode_0(message: DescribeProducersResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_ih(one_2.partition_index, one_2.error_code)
            error_message = one_2.error_message
            if error_message is None: out += b"\0"
            else:
                data = error_message.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            active_producers = one_2.active_producers
            n = len(active_producers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in active_producers:
                out += _p_qiiqiqx(one_3.producer_id, one_3.producer_epoch, one_3.last_sequence, one_3.last_timestamp, one_3.coordinator_epoch, one_3.current_txn_start_offset)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeProducersResponse]] = {
    0: encode_0,
}
