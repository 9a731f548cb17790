"""Made by `make generate` from Apache Kafka's FindCoordinatorRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_b = struct.Struct(">b").unpack_from
_bB = struct.Struct(">bB").unpack_from
_h = struct.Struct(">h").unpack_from


class FindCoordinatorRequest(Struct, gc=False):
    key: str = ""  # The coordinator key.
    key_type: int = 0  # The coordinator key type. (group, transaction, share).
    coordinator_keys: list[str] = []  # The coordinator keys.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorRequest:
    """Version 0."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("key", n, end - pos)
        key = buf[pos : pos + n].tobytes().decode(); pos += n
        return FindCoordinatorRequest(key, 0, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorRequest:
    """Versions 1 to 2."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("key", n, end - pos)
        key = buf[pos : pos + n].tobytes().decode(); pos += n
        (key_type,) = _b(buf, pos); pos += 1
        return FindCoordinatorRequest(key, key_type, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorRequest:
    """Version 3."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("key", n, end - pos)
        key = buf[pos : pos + n].tobytes().decode(); pos += n
        key_type, n = _bB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return FindCoordinatorRequest(key, key_type, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorRequest:
    """Versions 4 to 6."""
    end = len(buf)
    try:
        key_type, n = _bB(buf, pos); pos += 2
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("coordinator_keys", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        coordinator_keys: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("coordinator_keys", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            coordinator_keys.append(one)
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return FindCoordinatorRequest("", key_type, coordinator_keys)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[FindCoordinatorRequest]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_4,
    5: decode_4,
    6: decode_4,
}
