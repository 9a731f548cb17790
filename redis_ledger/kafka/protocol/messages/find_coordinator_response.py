"""Made by `make wire` from Apache Kafka's FindCoordinatorResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_hih = struct.Struct(">hih").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihh = struct.Struct(">ihh").unpack_from
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


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorResponse:
    """Version 0."""
    end = len(buf)
    try:
        error_code, node_id, n = _hih(buf, pos); pos += 8
        if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
        host = buf[pos : pos + n].tobytes().decode(); pos += n
        (port,) = _i(buf, pos); pos += 4
        if pos != end: raise left_over(end - pos)
        return FindCoordinatorResponse(0, error_code, "", node_id, host, port, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorResponse:
    """Versions 1 to 2."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihh(buf, pos); pos += 8
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        node_id, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
        host = buf[pos : pos + n].tobytes().decode(); pos += n
        (port,) = _i(buf, pos); pos += 4
        if pos != end: raise left_over(end - pos)
        return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorResponse:
    """Version 3."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        node_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
        host = buf[pos : pos + n].tobytes().decode(); pos += n
        port, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorResponse:
    """Versions 4 to 6."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 14 <= end - pos: raise bad_length("coordinators", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        coordinators: list[Coordinator] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("key", n, end - pos)
            key = buf[pos : pos + n].tobytes().decode(); pos += n
            node_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, error_code, n = _ihB(buf, pos); pos += 7
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            coordinators.append(Coordinator(key, node_id, host, port, error_code, error_message))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return FindCoordinatorResponse(throttle_time_ms, 0, "", 0, "", 0, coordinators)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[FindCoordinatorResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_4,
    5: decode_4,
    6: decode_4,
}
ENCODERS: dict[int, Encoder[FindCoordinatorResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
    5: encode_4,
    6: encode_4,
}
