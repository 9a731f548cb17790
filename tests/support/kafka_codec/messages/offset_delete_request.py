"""Made by `make generate` from Apache Kafka's OffsetDeleteRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.offset_delete_request import OffsetDeleteRequest
from redis_ledger.kafka.protocol.primitives import Buffer, Encoder

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


def encode_0(message: OffsetDeleteRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_i(one_2.partition_index)
    return out


ENCODERS: dict[int, Encoder[OffsetDeleteRequest]] = {
    0: encode_0,
}
