"""Made by `make generate` from Apache Kafka's ConsumerGroupHeartbeatRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_i = struct.Struct(">i").pack
_p_u = struct.Struct(">16s").pack


def encode_0(message: ConsumerGroupHeartbeatRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.member_epoch)
    instance_id = message.instance_id
    if instance_id is None: out += b"\0"
    else:
        data = instance_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    rack_id = message.rack_id
    if rack_id is None: out += b"\0"
    else:
        data = rack_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.rebalance_timeout_ms)
    subscribed_topic_names = message.subscribed_topic_names
    if subscribed_topic_names is None: out += b"\0"
    else:
        n = len(subscribed_topic_names) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in subscribed_topic_names:
            data = one.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    server_assignor = message.server_assignor
    if server_assignor is None: out += b"\0"
    else:
        data = server_assignor.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    topic_partitions = message.topic_partitions
    if topic_partitions is None: out += b"\0"
    else:
        n = len(topic_partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topic_partitions:
            out += _p_u(one_2.topic_id)
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partitions)
            out += b"\0"
    out += b"\0"
    return out


def encode_1(message: ConsumerGroupHeartbeatRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.member_epoch)
    instance_id = message.instance_id
    if instance_id is None: out += b"\0"
    else:
        data = instance_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    rack_id = message.rack_id
    if rack_id is None: out += b"\0"
    else:
        data = rack_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.rebalance_timeout_ms)
    subscribed_topic_names = message.subscribed_topic_names
    if subscribed_topic_names is None: out += b"\0"
    else:
        n = len(subscribed_topic_names) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in subscribed_topic_names:
            data = one.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    subscribed_topic_regex = message.subscribed_topic_regex
    if subscribed_topic_regex is None: out += b"\0"
    else:
        data = subscribed_topic_regex.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    server_assignor = message.server_assignor
    if server_assignor is None: out += b"\0"
    else:
        data = server_assignor.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    topic_partitions = message.topic_partitions
    if topic_partitions is None: out += b"\0"
    else:
        n = len(topic_partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topic_partitions:
            out += _p_u(one_2.topic_id)
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partitions)
            out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[ConsumerGroupHeartbeatRequest]] = {
    0: encode_0,
    1: encode_1,
}
