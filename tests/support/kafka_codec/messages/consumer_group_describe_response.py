"""Made by `make generate` from Apache Kafka's ConsumerGroupDescribeResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.consumer_group_describe_response import Assignment, ConsumerGroupDescribeResponse, DescribedGroup, Member, TopicPartitions
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, left_over, long_length, long_string, skip_tags, too_many

_bB = struct.Struct(">bB").unpack_from
_hB = struct.Struct(">hB").unpack_from
_iB = struct.Struct(">iB").unpack_from
_iiB = struct.Struct(">iiB").unpack_from
_uB = struct.Struct(">16sB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ConsumerGroupDescribeResponse:
    """Version 0."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 20 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[DescribedGroup] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_state", n, end - pos)
            group_state = buf[pos : pos + n].tobytes().decode(); pos += n
            group_epoch, assignment_epoch, n = _iiB(buf, pos); pos += 9
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("assignor_name", n, end - pos)
            assignor_name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 16 <= end - pos: raise bad_length("members", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            members: list[Member] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
                member_id = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: instance_id = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("instance_id", n, end - pos)
                    instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: rack_id = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("rack_id", n, end - pos)
                    rack_id = buf[pos : pos + n].tobytes().decode(); pos += n
                member_epoch, n = _iB(buf, pos); pos += 5
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("client_id", n, end - pos)
                client_id = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("client_host", n, end - pos)
                client_host = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("subscribed_topic_names", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                subscribed_topic_names: list[str] = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("subscribed_topic_names", n, end - pos)
                    one = buf[pos : pos + n].tobytes().decode(); pos += n
                    subscribed_topic_names.append(one)
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: subscribed_topic_regex = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("subscribed_topic_regex", n, end - pos)
                    subscribed_topic_regex = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 19 <= end - pos: raise bad_length("topic_partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                topic_partitions: list[TopicPartitions] = []
                for _ in range(n):
                    topic_id, n = _uB(buf, pos); pos += 17
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("topic_name", n, end - pos)
                    topic_name = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    topic_partitions.append(TopicPartitions(topic_id, topic_name, partitions))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                assignment = Assignment(topic_partitions)
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 19 <= end - pos: raise bad_length("topic_partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                topic_partitions_2: list[TopicPartitions] = []
                for _ in range(n):
                    topic_id_2, n = _uB(buf, pos); pos += 17
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("topic_name", n, end - pos)
                    topic_name_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    partitions_2: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    topic_partitions_2.append(TopicPartitions(topic_id_2, topic_name_2, partitions_2))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                target_assignment = Assignment(topic_partitions_2)
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                members.append(Member(member_id, instance_id, rack_id, member_epoch, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, assignment, target_assignment, -1))
            authorized_operations, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            groups.append(DescribedGroup(error_code, error_message, group_id, group_state, group_epoch, assignment_epoch, assignor_name, members, authorized_operations))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return ConsumerGroupDescribeResponse(throttle_time_ms, groups)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ConsumerGroupDescribeResponse:
    """Version 1."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 20 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[DescribedGroup] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_state", n, end - pos)
            group_state = buf[pos : pos + n].tobytes().decode(); pos += n
            group_epoch, assignment_epoch, n = _iiB(buf, pos); pos += 9
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("assignor_name", n, end - pos)
            assignor_name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 17 <= end - pos: raise bad_length("members", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            members: list[Member] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
                member_id = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: instance_id = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("instance_id", n, end - pos)
                    instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: rack_id = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("rack_id", n, end - pos)
                    rack_id = buf[pos : pos + n].tobytes().decode(); pos += n
                member_epoch, n = _iB(buf, pos); pos += 5
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("client_id", n, end - pos)
                client_id = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("client_host", n, end - pos)
                client_host = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("subscribed_topic_names", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                subscribed_topic_names: list[str] = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("subscribed_topic_names", n, end - pos)
                    one = buf[pos : pos + n].tobytes().decode(); pos += n
                    subscribed_topic_names.append(one)
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: subscribed_topic_regex = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("subscribed_topic_regex", n, end - pos)
                    subscribed_topic_regex = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 19 <= end - pos: raise bad_length("topic_partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                topic_partitions: list[TopicPartitions] = []
                for _ in range(n):
                    topic_id, n = _uB(buf, pos); pos += 17
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("topic_name", n, end - pos)
                    topic_name = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    topic_partitions.append(TopicPartitions(topic_id, topic_name, partitions))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                assignment = Assignment(topic_partitions)
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 19 <= end - pos: raise bad_length("topic_partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                topic_partitions_2: list[TopicPartitions] = []
                for _ in range(n):
                    topic_id_2, n = _uB(buf, pos); pos += 17
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("topic_name", n, end - pos)
                    topic_name_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    partitions_2: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    topic_partitions_2.append(TopicPartitions(topic_id_2, topic_name_2, partitions_2))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                target_assignment = Assignment(topic_partitions_2)
                member_type, n = _bB(buf, pos); pos += 2
                if n: pos, room = skip_tags(buf, pos, n, room)
                members.append(Member(member_id, instance_id, rack_id, member_epoch, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, assignment, target_assignment, member_type))
            authorized_operations, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            groups.append(DescribedGroup(error_code, error_message, group_id, group_state, group_epoch, assignment_epoch, assignor_name, members, authorized_operations))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return ConsumerGroupDescribeResponse(throttle_time_ms, groups)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ConsumerGroupDescribeResponse]] = {
    0: decode_0,
    1: decode_1,
}
