"""Made by `make generate` from Apache Kafka's DescribeTopicPartitionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_topic_partitions_response import Cursor, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, left_over, long_length, long_string, skip_tags, too_many

_b = struct.Struct(">b").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hiiiB = struct.Struct(">hiiiB").unpack_from
_iB = struct.Struct(">iB").unpack_from
_uoB = struct.Struct(">16s?B").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeTopicPartitionsResponse:
    """Version 0."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 26 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[DescribeTopicPartitionsResponseTopic] = []
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
            if not 0 <= n * 20 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[DescribeTopicPartitionsResponsePartition] = []
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
                eligible_leader_replicas: list[int] | None = None
                if n != -1:
                    if not 0 <= n * 4 <= end - pos: raise bad_length("eligible_leader_replicas", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    eligible_leader_replicas = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                last_known_elr: list[int] | None = None
                if n != -1:
                    if not 0 <= n * 4 <= end - pos: raise bad_length("last_known_elr", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    last_known_elr = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("offline_replicas", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                offline_replicas: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(DescribeTopicPartitionsResponsePartition(error_code_2, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, eligible_leader_replicas, last_known_elr, offline_replicas))
            topic_authorized_operations, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(DescribeTopicPartitionsResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations))
        (n,) = _b(buf, pos); pos += 1
        next_cursor: Cursor | None = None
        if n >= 0:
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("topic_name", n, end - pos)
            topic_name = buf[pos : pos + n].tobytes().decode(); pos += n
            partition_index_2, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            next_cursor = Cursor(topic_name, partition_index_2)
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeTopicPartitionsResponse(throttle_time_ms, topics, next_cursor)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeTopicPartitionsResponse]] = {
    0: decode_0,
}
