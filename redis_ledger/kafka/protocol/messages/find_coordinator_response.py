"""Made by `make generate` from Apache Kafka's FindCoordinatorResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_hi = struct.Struct(">hi").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_ix = struct.Struct(">ix").pack


class Coordinator(Struct, gc=False):
    """Each coordinator result in the response."""

    key: str = ""  # The coordinator key.
    node_id: int = 0  # The node id.
    host: str = ""  # The host name.
    port: int = 0  # The port.
    error_code: int = 0  # The error code, or 0 if there was no error.
    error_message: str | None = ""  # The error message, or null if there was no error.


class FindCoordinatorResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    error_message: str | None = ""  # The error message, or null if there was no error.
    node_id: int = 0  # The node id.
    host: str = ""  # The host name.
    port: int = 0  # The port.
    coordinators: list[Coordinator] = []  # Each coordinator result in the response.


def encode_0(message: FindCoordinatorResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_hi(message.error_code, message.node_id)
    host = message.host
    data = host.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.port)
    return out


def encode_1(message: FindCoordinatorResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\xff\xff"
    else:
        data = error_message.encode()
        out += _p_h(len(data))
        out += data
    out += _p_i(message.node_id)
    host = message.host
    data = host.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.port)
    return out


def encode_3(message: FindCoordinatorResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\0"
    else:
        data = error_message.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.node_id)
    host = message.host
    data = host.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_ix(message.port)
    return out


def encode_4(message: FindCoordinatorResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 6."""
    out += _p_i(message.throttle_time_ms)
    coordinators = message.coordinators
    n = len(coordinators) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in coordinators:
        key = one.key
        data = key.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ih(one.port, one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[FindCoordinatorResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
    5: encode_4,
    6: encode_4,
}
