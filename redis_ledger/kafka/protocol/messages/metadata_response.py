"""Made by `make generate` from Apache Kafka's MetadataResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import NO_UUID, ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_h = struct.Struct(">h").pack
_p_hii = struct.Struct(">hii").pack
_p_hiii = struct.Struct(">hiii").pack
_p_hx = struct.Struct(">hx").pack
_p_i = struct.Struct(">i").pack
_p_ix = struct.Struct(">ix").pack
_p_o = struct.Struct(">?").pack
_p_uo = struct.Struct(">16s?").pack


class MetadataResponseBroker(Struct, gc=False):
    """A list of brokers present in the cluster."""

    node_id: int = 0  # The broker ID.
    host: str = ""  # The broker hostname.
    port: int = 0  # The broker port.
    rack: str | None = None  # The rack of the broker, or null if it has not been assigned to a rack.


class MetadataResponsePartition(Struct, gc=False):
    """Each partition in the topic."""

    error_code: int = 0  # The partition error, or 0 if there was no error.
    partition_index: int = 0  # The partition index.
    leader_id: int = 0  # The ID of the leader broker.
    leader_epoch: int = -1  # The leader epoch of this partition.
    replica_nodes: list[int] = []  # The set of all nodes that host this partition.
    isr_nodes: list[int] = []  # The set of nodes that are in sync with the leader for this partition.
    offline_replicas: list[int] = []  # The set of offline replicas of this partition.


class MetadataResponseTopic(Struct, gc=False):
    """Each topic in the response."""

    error_code: int = 0  # The topic error, or 0 if there was no error.
    name: str | None = ""  # The topic name. Null for non-existing topics queried by ID. This is never null when ErrorCode is zero. One of Name and TopicId is always populated.
    topic_id: bytes = NO_UUID  # The topic id. Zero for non-existing topics queried by name. This is never zero when ErrorCode is zero. One of Name and TopicId is always populated.
    is_internal: bool = False  # True if the topic is internal.
    partitions: list[MetadataResponsePartition] = []  # Each partition in the topic.
    topic_authorized_operations: int = -2147483648  # 32-bit bitfield to represent authorized operations for this topic.


class MetadataResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    brokers: list[MetadataResponseBroker] = []  # A list of brokers present in the cluster.
    cluster_id: str | None = None  # The cluster ID that responding broker belongs to.
    controller_id: int = -1  # The ID of the controller broker.
    topics: list[MetadataResponseTopic] = []  # Each topic in the response.
    cluster_authorized_operations: int = -2147483648  # 32-bit bitfield to represent authorized operations for this cluster.
    error_code: int = 0  # The top-level error code, or 0 if there was no error.


def encode_0(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    brokers = message.brokers
    out += _p_i(len(brokers))
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        out += _p_h(len(data))
        out += data
        out += _p_i(one.port)
    topics = message.topics
    out += _p_i(len(topics))
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        assert name is not None, "name is null"
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one_2.partitions
        out += _p_i(len(partitions))
        for one_3 in partitions:
            out += _p_hii(one_3.error_code, one_3.partition_index, one_3.leader_id)
            replica_nodes = one_3.replica_nodes
            out += _p_i(len(replica_nodes))
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            out += _p_i(len(isr_nodes))
            out += pack_array("i", isr_nodes)
    return out


def encode_1(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    brokers = message.brokers
    out += _p_i(len(brokers))
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        out += _p_h(len(data))
        out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\xff\xff"
        else:
            data = rack.encode()
            out += _p_h(len(data))
            out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    out += _p_i(len(topics))
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        assert name is not None, "name is null"
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_o(one_2.is_internal)
        partitions = one_2.partitions
        out += _p_i(len(partitions))
        for one_3 in partitions:
            out += _p_hii(one_3.error_code, one_3.partition_index, one_3.leader_id)
            replica_nodes = one_3.replica_nodes
            out += _p_i(len(replica_nodes))
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            out += _p_i(len(isr_nodes))
            out += pack_array("i", isr_nodes)
    return out


def encode_2(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    brokers = message.brokers
    out += _p_i(len(brokers))
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        out += _p_h(len(data))
        out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\xff\xff"
        else:
            data = rack.encode()
            out += _p_h(len(data))
            out += data
    cluster_id = message.cluster_id
    if cluster_id is None: out += b"\xff\xff"
    else:
        data = cluster_id.encode()
        out += _p_h(len(data))
        out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    out += _p_i(len(topics))
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        assert name is not None, "name is null"
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_o(one_2.is_internal)
        partitions = one_2.partitions
        out += _p_i(len(partitions))
        for one_3 in partitions:
            out += _p_hii(one_3.error_code, one_3.partition_index, one_3.leader_id)
            replica_nodes = one_3.replica_nodes
            out += _p_i(len(replica_nodes))
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            out += _p_i(len(isr_nodes))
            out += pack_array("i", isr_nodes)
    return out


def encode_3(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
    out += _p_i(message.throttle_time_ms)
    brokers = message.brokers
    out += _p_i(len(brokers))
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        out += _p_h(len(data))
        out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\xff\xff"
        else:
            data = rack.encode()
            out += _p_h(len(data))
            out += data
    cluster_id = message.cluster_id
    if cluster_id is None: out += b"\xff\xff"
    else:
        data = cluster_id.encode()
        out += _p_h(len(data))
        out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    out += _p_i(len(topics))
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        assert name is not None, "name is null"
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_o(one_2.is_internal)
        partitions = one_2.partitions
        out += _p_i(len(partitions))
        for one_3 in partitions:
            out += _p_hii(one_3.error_code, one_3.partition_index, one_3.leader_id)
            replica_nodes = one_3.replica_nodes
            out += _p_i(len(replica_nodes))
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            out += _p_i(len(isr_nodes))
            out += pack_array("i", isr_nodes)
    return out


def encode_5(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 5 to 6."""
    out += _p_i(message.throttle_time_ms)
    brokers = message.brokers
    out += _p_i(len(brokers))
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        out += _p_h(len(data))
        out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\xff\xff"
        else:
            data = rack.encode()
            out += _p_h(len(data))
            out += data
    cluster_id = message.cluster_id
    if cluster_id is None: out += b"\xff\xff"
    else:
        data = cluster_id.encode()
        out += _p_h(len(data))
        out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    out += _p_i(len(topics))
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        assert name is not None, "name is null"
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_o(one_2.is_internal)
        partitions = one_2.partitions
        out += _p_i(len(partitions))
        for one_3 in partitions:
            out += _p_hii(one_3.error_code, one_3.partition_index, one_3.leader_id)
            replica_nodes = one_3.replica_nodes
            out += _p_i(len(replica_nodes))
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            out += _p_i(len(isr_nodes))
            out += pack_array("i", isr_nodes)
            offline_replicas = one_3.offline_replicas
            out += _p_i(len(offline_replicas))
            out += pack_array("i", offline_replicas)
    return out


def encode_7(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 7."""
    out += _p_i(message.throttle_time_ms)
    brokers = message.brokers
    out += _p_i(len(brokers))
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        out += _p_h(len(data))
        out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\xff\xff"
        else:
            data = rack.encode()
            out += _p_h(len(data))
            out += data
    cluster_id = message.cluster_id
    if cluster_id is None: out += b"\xff\xff"
    else:
        data = cluster_id.encode()
        out += _p_h(len(data))
        out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    out += _p_i(len(topics))
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        assert name is not None, "name is null"
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_o(one_2.is_internal)
        partitions = one_2.partitions
        out += _p_i(len(partitions))
        for one_3 in partitions:
            out += _p_hiii(one_3.error_code, one_3.partition_index, one_3.leader_id, one_3.leader_epoch)
            replica_nodes = one_3.replica_nodes
            out += _p_i(len(replica_nodes))
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            out += _p_i(len(isr_nodes))
            out += pack_array("i", isr_nodes)
            offline_replicas = one_3.offline_replicas
            out += _p_i(len(offline_replicas))
            out += pack_array("i", offline_replicas)
    return out


def encode_8(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 8."""
    out += _p_i(message.throttle_time_ms)
    brokers = message.brokers
    out += _p_i(len(brokers))
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        out += _p_h(len(data))
        out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\xff\xff"
        else:
            data = rack.encode()
            out += _p_h(len(data))
            out += data
    cluster_id = message.cluster_id
    if cluster_id is None: out += b"\xff\xff"
    else:
        data = cluster_id.encode()
        out += _p_h(len(data))
        out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    out += _p_i(len(topics))
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        assert name is not None, "name is null"
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_o(one_2.is_internal)
        partitions = one_2.partitions
        out += _p_i(len(partitions))
        for one_3 in partitions:
            out += _p_hiii(one_3.error_code, one_3.partition_index, one_3.leader_id, one_3.leader_epoch)
            replica_nodes = one_3.replica_nodes
            out += _p_i(len(replica_nodes))
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            out += _p_i(len(isr_nodes))
            out += pack_array("i", isr_nodes)
            offline_replicas = one_3.offline_replicas
            out += _p_i(len(offline_replicas))
            out += pack_array("i", offline_replicas)
        out += _p_i(one_2.topic_authorized_operations)
    out += _p_i(message.cluster_authorized_operations)
    return out


def encode_9(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 9."""
    out += _p_i(message.throttle_time_ms)
    brokers = message.brokers
    n = len(brokers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\0"
        else:
            data = rack.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    cluster_id = message.cluster_id
    if cluster_id is None: out += b"\0"
    else:
        data = cluster_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        assert name is not None, "name is null"
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_o(one_2.is_internal)
        partitions = one_2.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_3 in partitions:
            out += _p_hiii(one_3.error_code, one_3.partition_index, one_3.leader_id, one_3.leader_epoch)
            replica_nodes = one_3.replica_nodes
            n = len(replica_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            n = len(isr_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", isr_nodes)
            offline_replicas = one_3.offline_replicas
            n = len(offline_replicas) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", offline_replicas)
            out += b"\0"
        out += _p_ix(one_2.topic_authorized_operations)
    out += _p_ix(message.cluster_authorized_operations)
    return out


def encode_10(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 10."""
    out += _p_i(message.throttle_time_ms)
    brokers = message.brokers
    n = len(brokers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\0"
        else:
            data = rack.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    cluster_id = message.cluster_id
    if cluster_id is None: out += b"\0"
    else:
        data = cluster_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        assert name is not None, "name is null"
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_uo(one_2.topic_id, one_2.is_internal)
        partitions = one_2.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_3 in partitions:
            out += _p_hiii(one_3.error_code, one_3.partition_index, one_3.leader_id, one_3.leader_epoch)
            replica_nodes = one_3.replica_nodes
            n = len(replica_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            n = len(isr_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", isr_nodes)
            offline_replicas = one_3.offline_replicas
            n = len(offline_replicas) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", offline_replicas)
            out += b"\0"
        out += _p_ix(one_2.topic_authorized_operations)
    out += _p_ix(message.cluster_authorized_operations)
    return out


def encode_11(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 11."""
    out += _p_i(message.throttle_time_ms)
    brokers = message.brokers
    n = len(brokers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\0"
        else:
            data = rack.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    cluster_id = message.cluster_id
    if cluster_id is None: out += b"\0"
    else:
        data = cluster_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        assert name is not None, "name is null"
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_uo(one_2.topic_id, one_2.is_internal)
        partitions = one_2.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_3 in partitions:
            out += _p_hiii(one_3.error_code, one_3.partition_index, one_3.leader_id, one_3.leader_epoch)
            replica_nodes = one_3.replica_nodes
            n = len(replica_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            n = len(isr_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", isr_nodes)
            offline_replicas = one_3.offline_replicas
            n = len(offline_replicas) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", offline_replicas)
            out += b"\0"
        out += _p_ix(one_2.topic_authorized_operations)
    out += b"\0"
    return out


def encode_12(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 12."""
    out += _p_i(message.throttle_time_ms)
    brokers = message.brokers
    n = len(brokers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\0"
        else:
            data = rack.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    cluster_id = message.cluster_id
    if cluster_id is None: out += b"\0"
    else:
        data = cluster_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        if name is None: out += b"\0"
        else:
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_uo(one_2.topic_id, one_2.is_internal)
        partitions = one_2.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_3 in partitions:
            out += _p_hiii(one_3.error_code, one_3.partition_index, one_3.leader_id, one_3.leader_epoch)
            replica_nodes = one_3.replica_nodes
            n = len(replica_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            n = len(isr_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", isr_nodes)
            offline_replicas = one_3.offline_replicas
            n = len(offline_replicas) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", offline_replicas)
            out += b"\0"
        out += _p_ix(one_2.topic_authorized_operations)
    out += b"\0"
    return out


def encode_13(message: MetadataResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 13."""
    out += _p_i(message.throttle_time_ms)
    brokers = message.brokers
    n = len(brokers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in brokers:
        out += _p_i(one.node_id)
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_i(one.port)
        rack = one.rack
        if rack is None: out += b"\0"
        else:
            data = rack.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    cluster_id = message.cluster_id
    if cluster_id is None: out += b"\0"
    else:
        data = cluster_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.controller_id)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_2 in topics:
        out += _p_h(one_2.error_code)
        name = one_2.name
        if name is None: out += b"\0"
        else:
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_uo(one_2.topic_id, one_2.is_internal)
        partitions = one_2.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_3 in partitions:
            out += _p_hiii(one_3.error_code, one_3.partition_index, one_3.leader_id, one_3.leader_epoch)
            replica_nodes = one_3.replica_nodes
            n = len(replica_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", replica_nodes)
            isr_nodes = one_3.isr_nodes
            n = len(isr_nodes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", isr_nodes)
            offline_replicas = one_3.offline_replicas
            n = len(offline_replicas) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", offline_replicas)
            out += b"\0"
        out += _p_ix(one_2.topic_authorized_operations)
    out += _p_hx(message.error_code)
    return out


ENCODERS: dict[int, Encoder[MetadataResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_2,
    3: encode_3,
    4: encode_3,
    5: encode_5,
    6: encode_5,
    7: encode_7,
    8: encode_8,
    9: encode_9,
    10: encode_10,
    11: encode_11,
    12: encode_12,
    13: encode_13,
}
