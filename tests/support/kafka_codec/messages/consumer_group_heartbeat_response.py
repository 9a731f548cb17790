"""Made by `make generate` from Apache Kafka's ConsumerGroupHeartbeatResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.consumer_group_heartbeat_response import Assignment, ConsumerGroupHeartbeatResponse, TopicPartitions
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, left_over, long_length, long_string, skip_tags, too_many

_ihB = struct.Struct(">ihB").unpack_from
_iib = struct.Struct(">iib").unpack_from
_uB = struct.Struct(">16sB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ConsumerGroupHeartbeatResponse:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: member_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
            member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        member_epoch, heartbeat_interval_ms, n = _iib(buf, pos); pos += 9
        assignment: Assignment | None = None
        if n >= 0:
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 18 <= end - pos: raise bad_length("topic_partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topic_partitions: list[TopicPartitions] = []
            for _ in range(n):
                topic_id, n = _uB(buf, pos); pos += 17
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topic_partitions.append(TopicPartitions(topic_id, partitions))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            assignment = Assignment(topic_partitions)
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return ConsumerGroupHeartbeatResponse(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ConsumerGroupHeartbeatResponse]] = {
    0: decode_0,
    1: decode_0,
}
