"""Made by `make generate` from Apache Kafka's WriteTxnMarkersResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_ihx = struct.Struct(">ihx").pack
_p_q = struct.Struct(">q").pack


class WritableTxnMarkerPartitionResult(Struct, gc=False):
    """The results by partition."""

    partition_index: int = 0  # The partition index.
    error_code: int = 0  # The error code, or 0 if there was no error.


class WritableTxnMarkerTopicResult(Struct, gc=False):
    """The results by topic."""

    name: str = ""  # The topic name.
    partitions: list[WritableTxnMarkerPartitionResult] = []  # The results by partition.


class WritableTxnMarkerResult(Struct, gc=False):
    """The results for writing makers."""

    producer_id: int = 0  # The current producer ID in use by the transactional ID.
    topics: list[WritableTxnMarkerTopicResult] = []  # The results by topic.


class WriteTxnMarkersResponse(Struct, gc=False):
    markers: list[WritableTxnMarkerResult] = []  # The results for writing makers.


def encode_1(message: WriteTxnMarkersResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    markers = message.markers
    n = len(markers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in markers:
        out += _p_q(one.producer_id)
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in partitions:
                out += _p_ihx(one_3.partition_index, one_3.error_code)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[WriteTxnMarkersResponse]] = {
    1: encode_1,
    2: encode_1,
}
