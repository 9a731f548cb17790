"""Made by `make generate` from Apache Kafka's OffsetDeleteResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.offset_delete_response import OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, too_many

_h = struct.Struct(">h").unpack_from
_hii = struct.Struct(">hii").unpack_from
_i = struct.Struct(">i").unpack_from
_ih = struct.Struct(">ih").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetDeleteResponse:
    """Version 0."""
    end = len(buf)
    try:
        error_code, throttle_time_ms, n = _hii(buf, pos); pos += 10
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetDeleteResponseTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 6 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetDeleteResponsePartition] = []
            for _ in range(n):
                partition_index, error_code_2 = _ih(buf, pos); pos += 6
                partitions.append(OffsetDeleteResponsePartition(partition_index, error_code_2))
            topics.append(OffsetDeleteResponseTopic(name, partitions))
        if pos != end: raise left_over(end - pos)
        return OffsetDeleteResponse(error_code, throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[OffsetDeleteResponse]] = {
    0: decode_0,
}
