"""Made by `make generate` from Apache Kafka's DescribeTransactionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from redis_ledger.kafka.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint



def encode_0(message: DescribeTransactionsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    transactional_ids = message.transactional_ids
    n = len(transactional_ids) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in transactional_ids:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeTransactionsRequest]] = {
    0: encode_0,
}
