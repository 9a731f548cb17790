"""Made by `make wire` from Apache Kafka's ConsumerProtocolSubscription.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Buffer, Decoder, Encoder, bad_length, fixed_array, pack_array, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_ih = struct.Struct(">ih").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


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


def encode_0(message: ConsumerProtocolSubscription, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    user_data = message.user_data
    if user_data is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(user_data))
        out += user_data
    return out


def encode_1(message: ConsumerProtocolSubscription, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    user_data = message.user_data
    if user_data is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(user_data))
        out += user_data
    owned_partitions = message.owned_partitions
    out += _p_i(len(owned_partitions))
    for one_2 in owned_partitions:
        topic = one_2.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one_2.partitions
        out += _p_i(len(partitions))
        out += pack_array("i", partitions)
    return out


def encode_2(message: ConsumerProtocolSubscription, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    user_data = message.user_data
    if user_data is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(user_data))
        out += user_data
    owned_partitions = message.owned_partitions
    out += _p_i(len(owned_partitions))
    for one_2 in owned_partitions:
        topic = one_2.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one_2.partitions
        out += _p_i(len(partitions))
        out += pack_array("i", partitions)
    out += _p_i(message.generation_id)
    return out


def encode_3(message: ConsumerProtocolSubscription, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    user_data = message.user_data
    if user_data is None: out += b"\xff\xff\xff\xff"
    else:
        out += _p_i(len(user_data))
        out += user_data
    owned_partitions = message.owned_partitions
    out += _p_i(len(owned_partitions))
    for one_2 in owned_partitions:
        topic = one_2.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one_2.partitions
        out += _p_i(len(partitions))
        out += pack_array("i", partitions)
    out += _p_i(message.generation_id)
    rack_id = message.rack_id
    if rack_id is None: out += b"\xff\xff"
    else:
        data = rack_id.encode()
        out += _p_h(len(data))
        out += data
    return out


DECODERS: dict[int, Decoder[ConsumerProtocolSubscription]] = {
    0: decode_0,
    1: decode_1,
    2: decode_2,
    3: decode_3,
}
ENCODERS: dict[int, Encoder[ConsumerProtocolSubscription]] = {
    0: encode_0,
    1: encode_1,
    2: encode_2,
    3: encode_3,
}
