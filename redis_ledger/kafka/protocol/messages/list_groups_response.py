"""Made by `make generate` from Apache Kafka's ListGroupsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack


class ListedGroup(Struct, gc=False):
    """Each group in the response."""

    group_id: str = ""  # The group ID.
    protocol_type: str = ""  # The group protocol type.
    group_state: str = ""  # The group state name.
    group_type: str = ""  # The group type name.


class ListGroupsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    groups: list[ListedGroup] = []  # Each group in the response.


def encode_0(message: ListGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_h(message.error_code)
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        out += _p_h(len(data))
        out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        out += _p_h(len(data))
        out += data
    return out


def encode_1(message: ListGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        out += _p_h(len(data))
        out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        out += _p_h(len(data))
        out += data
    return out


def encode_3(message: ListGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += b"\0"
    return out


def encode_4(message: ListGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_state = one.group_state
        data = group_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += b"\0"
    return out


def encode_5(message: ListGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_state = one.group_state
        data = group_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_type = one.group_type
        data = group_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[ListGroupsResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
    5: encode_5,
}
