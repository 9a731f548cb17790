"""Made by `make generate` from Apache Kafka's ApiVersionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from redis_ledger.kafka.protocol.messages.api_versions_request import ApiVersionsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint



def encode_0(message: ApiVersionsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    return out


def encode_3(message: ApiVersionsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
    client_software_name = message.client_software_name
    data = client_software_name.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    client_software_version = message.client_software_version
    data = client_software_version.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[ApiVersionsRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_3,
}
