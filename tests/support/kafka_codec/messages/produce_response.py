"""Made by `make generate` from Apache Kafka's ProduceResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.produce_response import BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, bad_tag, left_over, long_length, long_string, skip_tags, tag_head, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihqq = struct.Struct(">ihqq").unpack_from
_ihqqq = struct.Struct(">ihqqq").unpack_from
_ihqqqB = struct.Struct(">ihqqqB").unpack_from
_ihqqqi = struct.Struct(">ihqqqi").unpack_from
_iiB = struct.Struct(">iiB").unpack_from
_uB = struct.Struct(">16sB").unpack_from


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ProduceResponse:
    """Versions 3 to 4."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[TopicProduceResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 22 <= end - pos: raise bad_length("partition_responses", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partition_responses: list[PartitionProduceResponse] = []
            for _ in range(n):
                index, error_code, base_offset, log_append_time_ms = _ihqq(buf, pos); pos += 22
                partition_responses.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, -1, [], None, None))
            responses.append(TopicProduceResponse(name, NO_UUID, partition_responses))
        (throttle_time_ms,) = _i(buf, pos); pos += 4
        if pos != end: raise left_over(end - pos)
        return ProduceResponse(responses, throttle_time_ms, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ProduceResponse:
    """Versions 5 to 7."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[TopicProduceResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 30 <= end - pos: raise bad_length("partition_responses", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partition_responses: list[PartitionProduceResponse] = []
            for _ in range(n):
                index, error_code, base_offset, log_append_time_ms, log_start_offset = _ihqqq(buf, pos); pos += 30
                partition_responses.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, [], None, None))
            responses.append(TopicProduceResponse(name, NO_UUID, partition_responses))
        (throttle_time_ms,) = _i(buf, pos); pos += 4
        if pos != end: raise left_over(end - pos)
        return ProduceResponse(responses, throttle_time_ms, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_8(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ProduceResponse:
    """Version 8."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[TopicProduceResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 36 <= end - pos: raise bad_length("partition_responses", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partition_responses: list[PartitionProduceResponse] = []
            for _ in range(n):
                index, error_code, base_offset, log_append_time_ms, log_start_offset, n = _ihqqqi(buf, pos); pos += 34
                if not 0 <= n * 6 <= end - pos: raise bad_length("record_errors", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                record_errors: list[BatchIndexAndErrorMessage] = []
                for _ in range(n):
                    batch_index, n = _ih(buf, pos); pos += 6
                    if n == -1: batch_index_error_message = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("batch_index_error_message", n, end - pos)
                        batch_index_error_message = buf[pos : pos + n].tobytes().decode(); pos += n
                    record_errors.append(BatchIndexAndErrorMessage(batch_index, batch_index_error_message))
                (n,) = _h(buf, pos); pos += 2
                if n == -1: error_message = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                    error_message = buf[pos : pos + n].tobytes().decode(); pos += n
                partition_responses.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, None))
            responses.append(TopicProduceResponse(name, NO_UUID, partition_responses))
        (throttle_time_ms,) = _i(buf, pos); pos += 4
        if pos != end: raise left_over(end - pos)
        return ProduceResponse(responses, throttle_time_ms, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_9(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ProduceResponse:
    """Version 9."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[TopicProduceResponse] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 33 <= end - pos: raise bad_length("partition_responses", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partition_responses: list[PartitionProduceResponse] = []
            for _ in range(n):
                index, error_code, base_offset, log_append_time_ms, log_start_offset, n = _ihqqqB(buf, pos); pos += 31
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 6 <= end - pos: raise bad_length("record_errors", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                record_errors: list[BatchIndexAndErrorMessage] = []
                for _ in range(n):
                    batch_index, n = _iB(buf, pos); pos += 5
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: batch_index_error_message = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("batch_index_error_message", n, end - pos)
                        batch_index_error_message = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    record_errors.append(BatchIndexAndErrorMessage(batch_index, batch_index_error_message))
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: error_message = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                    error_message = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partition_responses.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, None))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(TopicProduceResponse(name, NO_UUID, partition_responses))
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return ProduceResponse(responses, throttle_time_ms, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_10(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ProduceResponse:
    """Versions 10 to 12."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[TopicProduceResponse] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 33 <= end - pos: raise bad_length("partition_responses", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partition_responses: list[PartitionProduceResponse] = []
            for _ in range(n):
                index, error_code, base_offset, log_append_time_ms, log_start_offset, n = _ihqqqB(buf, pos); pos += 31
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 6 <= end - pos: raise bad_length("record_errors", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                record_errors: list[BatchIndexAndErrorMessage] = []
                for _ in range(n):
                    batch_index, n = _iB(buf, pos); pos += 5
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: batch_index_error_message = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("batch_index_error_message", n, end - pos)
                        batch_index_error_message = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    record_errors.append(BatchIndexAndErrorMessage(batch_index, batch_index_error_message))
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: error_message = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                    error_message = buf[pos : pos + n].tobytes().decode(); pos += n
                current_leader: LeaderIdAndEpoch | None = None
                n = buf[pos]; pos += 1
                if n:
                    tag = -1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    if (room := room - n) < 0: raise too_many()
                    for _ in range(n):
                        tag, size, pos = tag_head(buf, pos, tag)
                        stop = pos + size
                        if tag == 0:
                            leader_id, leader_epoch, n = _iiB(buf, pos); pos += 9
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            current_leader = LeaderIdAndEpoch(leader_id, leader_epoch)
                        else: pos = stop
                        if pos != stop: raise bad_tag(tag, size)
                partition_responses.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, current_leader))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(TopicProduceResponse(name, NO_UUID, partition_responses))
        (throttle_time_ms,) = _i(buf, pos); pos += 4
        node_endpoints: list[NodeEndpoint] = []
        n = buf[pos]; pos += 1
        if n:
            tag_2 = -1
            if n > 127: n, pos = long_length(buf, pos, n)
            if (room := room - n) < 0: raise too_many()
            for _ in range(n):
                tag_2, size_2, pos = tag_head(buf, pos, tag_2)
                stop_2 = pos + size_2
                if tag_2 == 0:
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 11 <= end - pos: raise bad_length("node_endpoints", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    node_endpoints_2: list[NodeEndpoint] = []
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
                        node_endpoints_2.append(NodeEndpoint(node_id, host, port, rack))
                    node_endpoints = node_endpoints_2
                else: pos = stop_2
                if pos != stop_2: raise bad_tag(tag_2, size_2)
        if pos != end: raise left_over(end - pos)
        return ProduceResponse(responses, throttle_time_ms, node_endpoints)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_13(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ProduceResponse:
    """Version 13."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[TopicProduceResponse] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 33 <= end - pos: raise bad_length("partition_responses", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partition_responses: list[PartitionProduceResponse] = []
            for _ in range(n):
                index, error_code, base_offset, log_append_time_ms, log_start_offset, n = _ihqqqB(buf, pos); pos += 31
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 6 <= end - pos: raise bad_length("record_errors", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                record_errors: list[BatchIndexAndErrorMessage] = []
                for _ in range(n):
                    batch_index, n = _iB(buf, pos); pos += 5
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: batch_index_error_message = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("batch_index_error_message", n, end - pos)
                        batch_index_error_message = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    record_errors.append(BatchIndexAndErrorMessage(batch_index, batch_index_error_message))
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: error_message = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                    error_message = buf[pos : pos + n].tobytes().decode(); pos += n
                current_leader: LeaderIdAndEpoch | None = None
                n = buf[pos]; pos += 1
                if n:
                    tag = -1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    if (room := room - n) < 0: raise too_many()
                    for _ in range(n):
                        tag, size, pos = tag_head(buf, pos, tag)
                        stop = pos + size
                        if tag == 0:
                            leader_id, leader_epoch, n = _iiB(buf, pos); pos += 9
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            current_leader = LeaderIdAndEpoch(leader_id, leader_epoch)
                        else: pos = stop
                        if pos != stop: raise bad_tag(tag, size)
                partition_responses.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, current_leader))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(TopicProduceResponse("", topic_id, partition_responses))
        (throttle_time_ms,) = _i(buf, pos); pos += 4
        node_endpoints: list[NodeEndpoint] = []
        n = buf[pos]; pos += 1
        if n:
            tag_2 = -1
            if n > 127: n, pos = long_length(buf, pos, n)
            if (room := room - n) < 0: raise too_many()
            for _ in range(n):
                tag_2, size_2, pos = tag_head(buf, pos, tag_2)
                stop_2 = pos + size_2
                if tag_2 == 0:
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 11 <= end - pos: raise bad_length("node_endpoints", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    node_endpoints_2: list[NodeEndpoint] = []
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
                        node_endpoints_2.append(NodeEndpoint(node_id, host, port, rack))
                    node_endpoints = node_endpoints_2
                else: pos = stop_2
                if pos != stop_2: raise bad_tag(tag_2, size_2)
        if pos != end: raise left_over(end - pos)
        return ProduceResponse(responses, throttle_time_ms, node_endpoints)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ProduceResponse]] = {
    3: decode_3,
    4: decode_3,
    5: decode_5,
    6: decode_5,
    7: decode_5,
    8: decode_8,
    9: decode_9,
    10: decode_10,
    11: decode_10,
    12: decode_10,
    13: decode_13,
}
