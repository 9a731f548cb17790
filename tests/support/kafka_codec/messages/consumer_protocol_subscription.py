"""Made by `make generate` from Apache Kafka's ConsumerProtocolSubscription.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from redis_ledger.kafka.protocol.primitives import Buffer, Encoder, pack_array

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


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


ENCODERS: dict[int, Encoder[ConsumerProtocolSubscription]] = {
    0: encode_0,
    1: encode_1,
    2: encode_2,
    3: encode_3,
}
