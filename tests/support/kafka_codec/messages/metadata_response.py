"""Made by `make generate` from Apache Kafka's MetadataResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.metadata_response import MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, fixed_array, left_over, long_length, long_string, skip_tags, too_many

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
_uoB = struct.Struct(">16s?B").unpack_from


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
