"""Made by `make generate` from Apache Kafka's ConsumerProtocolAssignment.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from redis_ledger.kafka.protocol.primitives import Buffer, Encoder, pack_array

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


def encode_0(message: ConsumerProtocolAssignment, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 3."""
    assigned_partitions = message.assigned_partitions
    out += _p_i(len(assigned_partitions))
    for one in assigned_partitions:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        out += pack_array("i", partitions)
    user_data = message.user_data
    if user_data is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(user_data))
        out += user_data
    return out


ENCODERS: dict[int, Encoder[ConsumerProtocolAssignment]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_0,
}
