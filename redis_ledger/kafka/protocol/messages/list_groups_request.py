"""Made by `make generate` from Apache Kafka's ListGroupsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many



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


DECODERS: dict[int, Decoder[ListGroupsRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_4,
    5: decode_5,
}
