"""Made by `make wire` from Apache Kafka's MetadataResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, fixed_array, left_over, long_length, long_string, pack_array, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_hiii = struct.Struct(">hiii").unpack_from
_hiiiB = struct.Struct(">hiiiB").unpack_from
_hiiii = struct.Struct(">hiiii").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ii = struct.Struct(">ii").unpack_from
_oB = struct.Struct(">?B").unpack_from
_oi = struct.Struct(">?i").unpack_from
_p_h = struct.Struct(">h").pack
_p_hii = struct.Struct(">hii").pack
_p_hiii = struct.Struct(">hiii").pack
_p_hx = struct.Struct(">hx").pack
_p_i = struct.Struct(">i").pack
_p_ix = struct.Struct(">ix").pack
_p_o = struct.Struct(">?").pack
_p_uo = struct.Struct(">16s?").pack
_uoB = struct.Struct(">16s?B").unpack_from


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


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Version 0."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 10 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _ih(buf, pos); pos += 6
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            (port,) = _i(buf, pos); pos += 4
            brokers.append(MetadataResponseBroker(node_id, host, port, None))
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 8 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, n = _hiii(buf, pos); pos += 14
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, -1, replica_nodes, isr_nodes, []))
            topics.append(MetadataResponseTopic(error_code, name, NO_UUID, False, partitions, -2147483648))
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(0, brokers, None, -1, topics, -2147483648, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Version 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 12 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _ih(buf, pos); pos += 6
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _ih(buf, pos); pos += 6
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        controller_id, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 9 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            is_internal, n = _oi(buf, pos); pos += 5
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, n = _hiii(buf, pos); pos += 14
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, -1, replica_nodes, isr_nodes, []))
            topics.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions, -2147483648))
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(0, brokers, None, controller_id, topics, -2147483648, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Version 2."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 12 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _ih(buf, pos); pos += 6
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _ih(buf, pos); pos += 6
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        (n,) = _h(buf, pos); pos += 2
        if n == -1: cluster_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
            cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 9 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            is_internal, n = _oi(buf, pos); pos += 5
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, n = _hiii(buf, pos); pos += 14
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, -1, replica_nodes, isr_nodes, []))
            topics.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions, -2147483648))
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(0, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Versions 3 to 4."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 12 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _ih(buf, pos); pos += 6
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _ih(buf, pos); pos += 6
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        (n,) = _h(buf, pos); pos += 2
        if n == -1: cluster_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
            cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 9 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            is_internal, n = _oi(buf, pos); pos += 5
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, n = _hiii(buf, pos); pos += 14
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, -1, replica_nodes, isr_nodes, []))
            topics.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions, -2147483648))
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Versions 5 to 6."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 12 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _ih(buf, pos); pos += 6
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _ih(buf, pos); pos += 6
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        (n,) = _h(buf, pos); pos += 2
        if n == -1: cluster_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
            cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 9 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            is_internal, n = _oi(buf, pos); pos += 5
            if not 0 <= n * 22 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, n = _hiii(buf, pos); pos += 14
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("offline_replicas", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                offline_replicas: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, -1, replica_nodes, isr_nodes, offline_replicas))
            topics.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions, -2147483648))
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_7(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Version 7."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 12 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _ih(buf, pos); pos += 6
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _ih(buf, pos); pos += 6
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        (n,) = _h(buf, pos); pos += 2
        if n == -1: cluster_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
            cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 9 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            is_internal, n = _oi(buf, pos); pos += 5
            if not 0 <= n * 26 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, leader_epoch, n = _hiiii(buf, pos); pos += 18
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("offline_replicas", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                offline_replicas: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas))
            topics.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions, -2147483648))
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_8(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Version 8."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 12 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _ih(buf, pos); pos += 6
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _ih(buf, pos); pos += 6
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        (n,) = _h(buf, pos); pos += 2
        if n == -1: cluster_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
            cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 13 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            is_internal, n = _oi(buf, pos); pos += 5
            if not 0 <= n * 26 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, leader_epoch, n = _hiiii(buf, pos); pos += 18
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                (n,) = _i(buf, pos); pos += 4
                if not 0 <= n * 4 <= end - pos: raise bad_length("offline_replicas", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                offline_replicas: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas))
            (topic_authorized_operations,) = _i(buf, pos); pos += 4
            topics.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions, topic_authorized_operations))
        (cluster_authorized_operations,) = _i(buf, pos); pos += 4
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_9(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Version 9."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 11 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: cluster_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
            cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 10 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            is_internal, n = _oB(buf, pos); pos += 2
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, leader_epoch, n = _hiiiB(buf, pos); pos += 15
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("offline_replicas", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                offline_replicas: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas))
            topic_authorized_operations, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions, topic_authorized_operations))
        cluster_authorized_operations, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_10(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Version 10."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 11 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: cluster_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
            cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 26 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            topic_id, is_internal, n = _uoB(buf, pos); pos += 18
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, leader_epoch, n = _hiiiB(buf, pos); pos += 15
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("offline_replicas", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                offline_replicas: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas))
            topic_authorized_operations, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(MetadataResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations))
        cluster_authorized_operations, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_11(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Version 11."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 11 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: cluster_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
            cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 26 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            topic_id, is_internal, n = _uoB(buf, pos); pos += 18
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, leader_epoch, n = _hiiiB(buf, pos); pos += 15
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("offline_replicas", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                offline_replicas: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas))
            topic_authorized_operations, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(MetadataResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_12(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Version 12."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 11 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: cluster_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
            cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 26 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: name = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
            topic_id, is_internal, n = _uoB(buf, pos); pos += 18
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, leader_epoch, n = _hiiiB(buf, pos); pos += 15
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("offline_replicas", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                offline_replicas: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas))
            topic_authorized_operations, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(MetadataResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_13(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> MetadataResponse:
    """Version 13."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 11 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[MetadataResponseBroker] = []
        for _ in range(n):
            node_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(MetadataResponseBroker(node_id, host, port, rack))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: cluster_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
            cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 26 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[MetadataResponseTopic] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: name = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
            topic_id, is_internal, n = _uoB(buf, pos); pos += 18
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[MetadataResponsePartition] = []
            for _ in range(n):
                error_code_2, partition_index, leader_id, leader_epoch, n = _hiiiB(buf, pos); pos += 15
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("replica_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                replica_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("isr_nodes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                isr_nodes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("offline_replicas", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                offline_replicas: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(MetadataResponsePartition(error_code_2, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas))
            topic_authorized_operations, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(MetadataResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations))
        error_code_3, n = _hB(buf, pos); pos += 3
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, error_code_3)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[MetadataResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_2,
    3: decode_3,
    4: decode_3,
    5: decode_5,
    6: decode_5,
    7: decode_7,
    8: decode_8,
    9: decode_9,
    10: decode_10,
    11: decode_11,
    12: decode_12,
    13: decode_13,
}
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
