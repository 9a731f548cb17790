"""Made by `make generate` from Apache Kafka's DeleteGroupsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.delete_groups_request import DeleteGroupsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


def encode_0(message: DeleteGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    groups_names = message.groups_names
    out += _p_i(len(groups_names))
    for one in groups_names:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    return out


def encode_2(message: DeleteGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    groups_names = message.groups_names
    n = len(groups_names) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups_names:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DeleteGroupsRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
    3: encode_2,
}
