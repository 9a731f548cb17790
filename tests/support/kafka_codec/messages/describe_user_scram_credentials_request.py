"""Made by `make generate` from Apache Kafka's DescribeUserScramCredentialsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from redis_ledger.kafka.protocol.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint



def encode_0(message: DescribeUserScramCredentialsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    users = message.users
    if users is None: out += b"\0"
    else:
        n = len(users) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in users:
            name = one.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeUserScramCredentialsRequest]] = {
    0: encode_0,
}
