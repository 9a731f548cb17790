"""Made by `make generate` from Apache Kafka's ListTransactionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, long_length, long_string, skip_tags, too_many

_qB = struct.Struct(">qB").unpack_from


class ListTransactionsRequest(Struct, gc=False):
    state_filters: list[str] = []  # The transaction states to filter by: if empty, all transactions are returned; if non-empty, then only transactions matching one of the filtered states will be returned.
    producer_id_filters: list[int] = []  # The producerIds to filter by: if empty, all transactions will be returned; if non-empty, only transactions which match one of the filtered producerIds will be returned.
    duration_filter: int = -1  # Duration (in millis) to filter by: if < 0, all transactions will be returned; otherwise, only transactions running longer than this duration will be returned.
    transactional_id_pattern: str | None = None  # The transactional ID regular expression pattern to filter by: if it is empty or null, all transactions are returned; Otherwise then only the transactions matching the given regular expression will be returned.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListTransactionsRequest:
    """Version 0."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("state_filters", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        state_filters: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("state_filters", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            state_filters.append(one)
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 8 <= end - pos: raise bad_length("producer_id_filters", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        producer_id_filters: list[int] = fixed_array("q", buf, pos, n); pos += n * 8
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ListTransactionsRequest(state_filters, producer_id_filters, -1, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListTransactionsRequest:
    """Version 1."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("state_filters", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        state_filters: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("state_filters", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            state_filters.append(one)
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 8 <= end - pos: raise bad_length("producer_id_filters", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        producer_id_filters: list[int] = fixed_array("q", buf, pos, n); pos += n * 8
        duration_filter, n = _qB(buf, pos); pos += 9
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListTransactionsRequest:
    """Version 2."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("state_filters", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        state_filters: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("state_filters", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            state_filters.append(one)
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 8 <= end - pos: raise bad_length("producer_id_filters", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        producer_id_filters: list[int] = fixed_array("q", buf, pos, n); pos += n * 8
        duration_filter, n = _qB(buf, pos); pos += 9
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: transactional_id_pattern = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("transactional_id_pattern", n, end - pos)
            transactional_id_pattern = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, transactional_id_pattern)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ListTransactionsRequest]] = {
    0: decode_0,
    1: decode_1,
    2: decode_2,
}
