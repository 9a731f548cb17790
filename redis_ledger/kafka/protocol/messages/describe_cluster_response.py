"""Made by `make generate` from Apache Kafka's DescribeClusterResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_ix = struct.Struct(">ix").pack
_p_ox = struct.Struct(">?x").pack


class DescribeClusterBroker(Struct, gc=False):
    """Each broker in the response."""

    broker_id: int = 0  # The broker ID.
    host: str = ""  # The broker hostname.
    port: int = 0  # The broker port.
    rack: str | None = None  # The rack of the broker, or null if it has not been assigned to a rack.
    is_fenced: bool = False  # Whether the broker is fenced


class DescribeClusterResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The top-level error code, or 0 if there was no error.
    error_message: str | None = None  # The top-level error message, or null if there was no error.
    endpoint_type: int = 1  # The endpoint type that was described. 1=brokers, 2=controllers.
    cluster_id: str = ""  # The cluster ID that responding broker belongs to.
    controller_id: int = -1  # The ID of the controller. When handled by a controller, returns the current voter leader ID. When handled by a broker, returns a random alive broker ID as a fallback.
    brokers: list[DescribeClusterBroker] = []  # Each broker in the response.
    cluster_authorized_operations: int = -2147483648  # 32-bit bitfield to represent authorized operations for this cluster.


def encode_0(message: DescribeClusterResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\0"
    else:
        data = error_message.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    cluster_id = message.cluster_id
    data = cluster_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.controller_id)
    brokers = message.brokers
    n = len(brokers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in brokers:
        out += _p_i(one.broker_id)
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\0"
        else:
            data = rack.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += _p_ix(message.cluster_authorized_operations)
    return out


def encode_1(message: DescribeClusterResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\0"
    else:
        data = error_message.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_b(message.endpoint_type)
    cluster_id = message.cluster_id
    data = cluster_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.controller_id)
    brokers = message.brokers
    n = len(brokers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in brokers:
        out += _p_i(one.broker_id)
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\0"
        else:
            data = rack.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += _p_ix(message.cluster_authorized_operations)
    return out


def encode_2(message: DescribeClusterResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\0"
    else:
        data = error_message.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_b(message.endpoint_type)
    cluster_id = message.cluster_id
    data = cluster_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.controller_id)
    brokers = message.brokers
    n = len(brokers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in brokers:
        out += _p_i(one.broker_id)
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\0"
        else:
            data = rack.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ox(one.is_fenced)
    out += _p_ix(message.cluster_authorized_operations)
    return out


ENCODERS: dict[int, Encoder[DescribeClusterResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_2,
}
