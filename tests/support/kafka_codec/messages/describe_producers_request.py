"""Made by `make generate` from Apache Kafka's DescribeProducersRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from redis_ledger.kafka.protocol.messages.describe_producers_request import DescribeProducersRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, pack_array, uvarint



def encode_0(message: DescribeProducersRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partition_indexes = one.partition_indexes
        n = len(partition_indexes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        out += pack_array("i", partition_indexes)
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeProducersRequest]] = {
    0: encode_0,
}
