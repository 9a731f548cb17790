"""Made by `make wire` from Apache Kafka's ConsumerGroupDescribeRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, long_length, long_string, skip_tags, too_many, uvarint

_oB = struct.Struct(">?B").unpack_from
_p_ox = struct.Struct(">?x").pack


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


def encode_0(message: ConsumerGroupDescribeRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    group_ids = message.group_ids
    n = len(group_ids) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in group_ids:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_ox(message.include_authorized_operations)
    return out


DECODERS: dict[int, Decoder[ConsumerGroupDescribeRequest]] = {
    0: decode_0,
    1: decode_0,
}
ENCODERS: dict[int, Encoder[ConsumerGroupDescribeRequest]] = {
    0: encode_0,
    1: encode_0,
}
