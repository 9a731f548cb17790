"""Made by `make generate` from Apache Kafka's ConsumerGroupDescribeRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_oB = struct.Struct(">?B").unpack_from


class ConsumerGroupDescribeRequest(Struct, gc=False):
    group_ids: list[str] = []  # The ids of the groups to describe.
    include_authorized_operations: bool = False  # Whether to include authorized operations.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ConsumerGroupDescribeRequest:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_ids", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        group_ids: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_ids", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            group_ids.append(one)
        include_authorized_operations, n = _oB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ConsumerGroupDescribeRequest(group_ids, include_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ConsumerGroupDescribeRequest]] = {
    0: decode_0,
    1: decode_0,
}
