"""Made by `make generate` from Apache Kafka's SyncGroupResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack


class SyncGroupResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    protocol_type: str | None = None  # The group protocol type.
    protocol_name: str | None = None  # The group protocol name.
    assignment: bytes = b""  # The member assignment.


def encode_0(message: SyncGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_h(message.error_code)
    assignment = message.assignment
    out += _p_i(len(assignment))
    out += assignment
    return out


def encode_1(message: SyncGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 3."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    assignment = message.assignment
    out += _p_i(len(assignment))
    out += assignment
    return out


def encode_4(message: SyncGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    assignment = message.assignment
    n = len(assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += assignment
    out += b"\0"
    return out


def encode_5(message: SyncGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    protocol_type = message.protocol_type
    if protocol_type is None: out += b"\0"
    else:
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    protocol_name = message.protocol_name
    if protocol_name is None: out += b"\0"
    else:
        data = protocol_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    assignment = message.assignment
    n = len(assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += assignment
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[SyncGroupResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_1,
    4: encode_4,
    5: encode_5,
}
