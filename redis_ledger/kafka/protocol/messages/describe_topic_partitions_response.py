"""Made by `make generate` from Apache Kafka's DescribeTopicPartitionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import NO_UUID, ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_h = struct.Struct(">h").pack
_p_hiii = struct.Struct(">hiii").pack
_p_i = struct.Struct(">i").pack
_p_ix = struct.Struct(">ix").pack
_p_uo = struct.Struct(">16s?").pack


class DescribeTopicPartitionsResponsePartition(Struct, gc=False):
    """Each partition in the topic."""

    error_code: int = 0  # The partition error, or 0 if there was no error.
    partition_index: int = 0  # The partition index.
    leader_id: int = 0  # The ID of the leader broker.
    leader_epoch: int = -1  # The leader epoch of this partition.
    replica_nodes: list[int] = []  # The set of all nodes that host this partition.
    isr_nodes: list[int] = []  # The set of nodes that are in sync with the leader for this partition.
    eligible_leader_replicas: list[int] | None = None  # The new eligible leader replicas otherwise.
    last_known_elr: list[int] | None = None  # The last known ELR.
    offline_replicas: list[int] = []  # The set of offline replicas of this partition.


class DescribeTopicPartitionsResponseTopic(Struct, gc=False):
    """Each topic in the response."""

    error_code: int = 0  # The topic error, or 0 if there was no error.
    name: str | None = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The topic id.
    is_internal: bool = False  # True if the topic is internal.
    partitions: list[DescribeTopicPartitionsResponsePartition] = []  # Each partition in the topic.
    topic_authorized_operations: int = -2147483648  # 32-bit bitfield to represent authorized operations for this topic.


class Cursor(Struct, gc=False):
    """The next topic and partition index to fetch details for."""

    topic_name: str = ""  # The name for the first topic to process.
    partition_index: int = 0  # The partition index to start with.


class DescribeTopicPartitionsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[DescribeTopicPartitionsResponseTopic] = []  # Each topic in the response.
    next_cursor: Cursor | None = None  # The next topic and partition index to fetch details for.


def encode_0(message: DescribeTopicPartitionsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        out += _p_h(one.error_code)
        name = one.name
        if name is None: out += b"\0"
        else:
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_uo(one.topic_id, one.is_internal)
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_hiii(one_2.error_code, one_2.partition_index, one_2.leader_id, one_2.leader_epoch)
            replica_nodes = one_2.replica_nodes
            n = len(replica_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", replica_nodes)
            isr_nodes = one_2.isr_nodes
            n = len(isr_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", isr_nodes)
            eligible_leader_replicas = one_2.eligible_leader_replicas
            if eligible_leader_replicas is None: out += b"\0"
            else:
                n = len(eligible_leader_replicas) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", eligible_leader_replicas)
            last_known_elr = one_2.last_known_elr
            if last_known_elr is None: out += b"\0"
            else:
                n = len(last_known_elr) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", last_known_elr)
            offline_replicas = one_2.offline_replicas
            n = len(offline_replicas) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", offline_replicas)
            out += b"\0"
        out += _p_ix(one.topic_authorized_operations)
    next_cursor = message.next_cursor
    if next_cursor is None: out += b"\xff"
    else:
        out += b"\x01"
        topic_name = next_cursor.topic_name
        data = topic_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ix(next_cursor.partition_index)
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeTopicPartitionsResponse]] = {
    0: encode_0,
}
