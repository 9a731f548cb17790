"""Made by `make wire` from Apache Kafka's DescribeClusterResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_bB = struct.Struct(">bB").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_oB = struct.Struct(">?B").unpack_from
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


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClusterResponse:
    """Version 0."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
        cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 11 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[DescribeClusterBroker] = []
        for _ in range(n):
            broker_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(DescribeClusterBroker(broker_id, host, port, rack, False))
        cluster_authorized_operations, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeClusterResponse(throttle_time_ms, error_code, error_message, 1, cluster_id, controller_id, brokers, cluster_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClusterResponse:
    """Version 1."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        endpoint_type, n = _bB(buf, pos); pos += 2
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
        cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 11 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[DescribeClusterBroker] = []
        for _ in range(n):
            broker_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(DescribeClusterBroker(broker_id, host, port, rack, False))
        cluster_authorized_operations, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClusterResponse:
    """Version 2."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        endpoint_type, n = _bB(buf, pos); pos += 2
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
        cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 12 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[DescribeClusterBroker] = []
        for _ in range(n):
            broker_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            is_fenced, n = _oB(buf, pos); pos += 2
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(DescribeClusterBroker(broker_id, host, port, rack, is_fenced))
        cluster_authorized_operations, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[DescribeClusterResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_2,
}
ENCODERS: dict[int, Encoder[DescribeClusterResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_2,
}
