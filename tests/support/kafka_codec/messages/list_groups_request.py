"""Made by `make generate` from Apache Kafka's ListGroupsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from redis_ledger.kafka.protocol.messages.list_groups_request import ListGroupsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint



def encode_0(message: ListGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    return out


def encode_3(message: ListGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += b"\0"
    return out


def encode_4(message: ListGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    states_filter = message.states_filter
    n = len(states_filter) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in states_filter:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


def encode_5(message: ListGroupsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    states_filter = message.states_filter
    n = len(states_filter) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in states_filter:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    types_filter = message.types_filter
    n = len(types_filter) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_2 in types_filter:
        data = one_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[ListGroupsRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_4,
    5: encode_5,
}
