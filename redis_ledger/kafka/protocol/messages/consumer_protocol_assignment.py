"""Made by `make generate` from Apache Kafka's ConsumerProtocolAssignment.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from


class TopicPartition(Struct, gc=False):
    """The list of topics and partitions assigned to this consumer."""

    topic: str = ""  # The topic name.
    partitions: list[int] = []  # The list of partitions assigned to this consumer.


class ConsumerProtocolAssignment(Struct, gc=False):
    assigned_partitions: list[TopicPartition] = []  # The list of topics and partitions assigned to this consumer.
    user_data: bytes | None = None  # User data.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ConsumerProtocolAssignment:
    """Versions 0 to 3."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("assigned_partitions", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        assigned_partitions: list[TopicPartition] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            assigned_partitions.append(TopicPartition(topic, partitions))
        (n,) = _i(buf, pos); pos += 4
        if n == -1: user_data = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("user_data", n, end - pos)
            user_data = buf[pos : pos + n].tobytes(); pos += n
        return ConsumerProtocolAssignment(assigned_partitions, user_data)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ConsumerProtocolAssignment]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_0,
}
