"""Made by `make generate` from Apache Kafka's ConsumerProtocolSubscription.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_ih = struct.Struct(">ih").unpack_from


class TopicPartition(Struct, gc=False):
    """The partitions that the member owns."""

    topic: str = ""  # The topic name.
    partitions: list[int] = []  # The partition ids.


class ConsumerProtocolSubscription(Struct, gc=False):
    topics: list[str] = []  # The topics that the member wants to consume.
    user_data: bytes | None = None  # User data that will be passed back to the consumer.
    owned_partitions: list[TopicPartition] = []  # The partitions that the member owns.
    generation_id: int = -1  # The generation id of the member.
    rack_id: str | None = None  # The rack id of the member.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ConsumerProtocolSubscription:
    """Version 0."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 2 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[str] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topics", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            topics.append(one)
        (n,) = _i(buf, pos); pos += 4
        if n == -1: user_data = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("user_data", n, end - pos)
            user_data = buf[pos : pos + n].tobytes(); pos += n
        return ConsumerProtocolSubscription(topics, user_data, [], -1, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ConsumerProtocolSubscription:
    """Version 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 2 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[str] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topics", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            topics.append(one)
        (n,) = _i(buf, pos); pos += 4
        if n == -1: user_data = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("user_data", n, end - pos)
            user_data = buf[pos : pos + n].tobytes(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("owned_partitions", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        owned_partitions: list[TopicPartition] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            owned_partitions.append(TopicPartition(topic, partitions))
        return ConsumerProtocolSubscription(topics, user_data, owned_partitions, -1, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ConsumerProtocolSubscription:
    """Version 2."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 2 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[str] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topics", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            topics.append(one)
        (n,) = _i(buf, pos); pos += 4
        if n == -1: user_data = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("user_data", n, end - pos)
            user_data = buf[pos : pos + n].tobytes(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("owned_partitions", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        owned_partitions: list[TopicPartition] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            owned_partitions.append(TopicPartition(topic, partitions))
        (generation_id,) = _i(buf, pos); pos += 4
        return ConsumerProtocolSubscription(topics, user_data, owned_partitions, generation_id, None)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ConsumerProtocolSubscription:
    """Version 3."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 2 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[str] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topics", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            topics.append(one)
        (n,) = _i(buf, pos); pos += 4
        if n == -1: user_data = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("user_data", n, end - pos)
            user_data = buf[pos : pos + n].tobytes(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("owned_partitions", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        owned_partitions: list[TopicPartition] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            owned_partitions.append(TopicPartition(topic, partitions))
        generation_id, n = _ih(buf, pos); pos += 6
        if n == -1: rack_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("rack_id", n, end - pos)
            rack_id = buf[pos : pos + n].tobytes().decode(); pos += n
        return ConsumerProtocolSubscription(topics, user_data, owned_partitions, generation_id, rack_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ConsumerProtocolSubscription]] = {
    0: decode_0,
    1: decode_1,
    2: decode_2,
    3: decode_3,
}
