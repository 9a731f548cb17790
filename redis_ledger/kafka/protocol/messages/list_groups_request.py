"""Made by `make wire` from Apache Kafka's ListGroupsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, long_length, long_string, skip_tags, too_many, uvarint



class ListGroupsRequest(Struct, gc=False):
    states_filter: list[str] = []  # The states of the groups we want to list. If empty, all groups are returned with their state.
    types_filter: list[str] = []  # The types of the groups we want to list. If empty, all groups are returned with their type.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListGroupsRequest:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        return ListGroupsRequest([], [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListGroupsRequest:
    """Version 3."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ListGroupsRequest([], [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListGroupsRequest:
    """Version 4."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("states_filter", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        states_filter: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("states_filter", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            states_filter.append(one)
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ListGroupsRequest(states_filter, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListGroupsRequest:
    """Version 5."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("states_filter", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        states_filter: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("states_filter", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            states_filter.append(one)
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("types_filter", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        types_filter: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("types_filter", n, end - pos)
            one_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            types_filter.append(one_2)
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ListGroupsRequest(states_filter, types_filter)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[ListGroupsRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_4,
    5: decode_5,
}
ENCODERS: dict[int, Encoder[ListGroupsRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_4,
    5: encode_5,
}
