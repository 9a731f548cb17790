"""Made by `make wire` from Apache Kafka's ProduceResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, bad_tag, left_over, long_length, long_string, skip_tags, tag_head, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihqq = struct.Struct(">ihqq").unpack_from
_ihqqq = struct.Struct(">ihqqq").unpack_from
_ihqqqB = struct.Struct(">ihqqqB").unpack_from
_ihqqqi = struct.Struct(">ihqqqi").unpack_from
_iiB = struct.Struct(">iiB").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ihqq = struct.Struct(">ihqq").pack
_p_ihqqq = struct.Struct(">ihqqq").pack
_p_iix = struct.Struct(">iix").pack
_p_ix = struct.Struct(">ix").pack
_p_u = struct.Struct(">16s").pack
_uB = struct.Struct(">16sB").unpack_from


class BatchIndexAndErrorMessage(Struct, gc=False):
    """The batch indices of records that caused the batch to be dropped."""

    batch_index: int = 0  # The batch index of the record that caused the batch to be dropped.
    batch_index_error_message: str | None = None  # The error message of the record that caused the batch to be dropped.


class LeaderIdAndEpoch(Struct, gc=False):
    """The leader broker that the producer should use for future requests."""

    leader_id: int = -1  # The ID of the current leader or -1 if the leader is unknown.
    leader_epoch: int = -1  # The latest known leader epoch.


class PartitionProduceResponse(Struct, gc=False):
    """Each partition that we produced to within the topic."""

    index: int = 0  # The partition index.
    error_code: int = 0  # The error code, or 0 if there was no error.
    base_offset: int = 0  # The base offset.
    log_append_time_ms: int = -1  # The timestamp returned by broker after appending the messages. If CreateTime is used for the topic, the timestamp will be -1. If LogAppendTime is used for the topic, the timestamp will be the broker local time when the messages are appended.
    log_start_offset: int = -1  # The log start offset.
    record_errors: list[BatchIndexAndErrorMessage] = []  # The batch indices of records that caused the batch to be dropped.
    error_message: str | None = None  # The global error message summarizing the common root cause of the records that caused the batch to be dropped.
    current_leader: LeaderIdAndEpoch | None = None  # The leader broker that the producer should use for future requests.


class TopicProduceResponse(Struct, gc=False):
    """Each produce response."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The unique topic ID
    partition_responses: list[PartitionProduceResponse] = []  # Each partition that we produced to within the topic.


class NodeEndpoint(Struct, gc=False):
    """Endpoints for all current-leaders enumerated in PartitionProduceResponses, with errors NOT_LEADER_OR_FOLLOWER."""

    node_id: int = 0  # The ID of the associated node.
    host: str = ""  # The node's hostname.
    port: int = 0  # The node's port.
    rack: str | None = None  # The rack of the node, or null if it has not been assigned to a rack.


class ProduceResponse(Struct, gc=False):
    responses: list[TopicProduceResponse] = []  # Each produce response.
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    node_endpoints: list[NodeEndpoint] = []  # Endpoints for all current-leaders enumerated in PartitionProduceResponses, with errors NOT_LEADER_OR_FOLLOWER.


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


def encode_3(message: ProduceResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
    responses = message.responses
    out += _p_i(len(responses))
    for one in responses:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partition_responses = one.partition_responses
        out += _p_i(len(partition_responses))
        for one_2 in partition_responses:
            out += _p_ihqq(one_2.index, one_2.error_code, one_2.base_offset, one_2.log_append_time_ms)
    out += _p_i(message.throttle_time_ms)
    return out


def encode_5(message: ProduceResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 5 to 7."""
    responses = message.responses
    out += _p_i(len(responses))
    for one in responses:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partition_responses = one.partition_responses
        out += _p_i(len(partition_responses))
        for one_2 in partition_responses:
            out += _p_ihqqq(one_2.index, one_2.error_code, one_2.base_offset, one_2.log_append_time_ms, one_2.log_start_offset)
    out += _p_i(message.throttle_time_ms)
    return out


def encode_8(message: ProduceResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 8."""
    responses = message.responses
    out += _p_i(len(responses))
    for one in responses:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partition_responses = one.partition_responses
        out += _p_i(len(partition_responses))
        for one_2 in partition_responses:
            out += _p_ihqqq(one_2.index, one_2.error_code, one_2.base_offset, one_2.log_append_time_ms, one_2.log_start_offset)
            record_errors = one_2.record_errors
            out += _p_i(len(record_errors))
            for one_3 in record_errors:
                out += _p_i(one_3.batch_index)
                batch_index_error_message = one_3.batch_index_error_message
                if batch_index_error_message is None: out += b"\xff\xff"
                else:
                    data = batch_index_error_message.encode()
                    out += _p_h(len(data))
                    out += data
            error_message = one_2.error_message
            if error_message is None: out += b"\xff\xff"
            else:
                data = error_message.encode()
                out += _p_h(len(data))
                out += data
    out += _p_i(message.throttle_time_ms)
    return out


def encode_9(message: ProduceResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 9."""
    responses = message.responses
    n = len(responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in responses:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partition_responses = one.partition_responses
        n = len(partition_responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partition_responses:
            out += _p_ihqqq(one_2.index, one_2.error_code, one_2.base_offset, one_2.log_append_time_ms, one_2.log_start_offset)
            record_errors = one_2.record_errors
            n = len(record_errors) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in record_errors:
                out += _p_i(one_3.batch_index)
                batch_index_error_message = one_3.batch_index_error_message
                if batch_index_error_message is None: out += b"\0"
                else:
                    data = batch_index_error_message.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += b"\0"
            error_message = one_2.error_message
            if error_message is None: out += b"\0"
            else:
                data = error_message.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
        out += b"\0"
    out += _p_ix(message.throttle_time_ms)
    return out


def encode_10(message: ProduceResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 10 to 12."""
    responses = message.responses
    n = len(responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in responses:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partition_responses = one.partition_responses
        n = len(partition_responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partition_responses:
            out += _p_ihqqq(one_2.index, one_2.error_code, one_2.base_offset, one_2.log_append_time_ms, one_2.log_start_offset)
            record_errors = one_2.record_errors
            n = len(record_errors) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in record_errors:
                out += _p_i(one_3.batch_index)
                batch_index_error_message = one_3.batch_index_error_message
                if batch_index_error_message is None: out += b"\0"
                else:
                    data = batch_index_error_message.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += b"\0"
            error_message = one_2.error_message
            if error_message is None: out += b"\0"
            else:
                data = error_message.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            if one_2.current_leader is not None:
                tagged = bytearray(); count = 0
                if one_2.current_leader is not None:
                    part = bytearray()
                    part += _p_iix(one_2.current_leader.leader_id, one_2.current_leader.leader_epoch)
                    tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
                out += uvarint(count) + tagged
            else:
                out += b"\0"
        out += b"\0"
    out += _p_i(message.throttle_time_ms)
    if message.node_endpoints:
        tagged_2 = bytearray(); count_2 = 0
        if message.node_endpoints:
            part_2 = bytearray()
            node_endpoints = message.node_endpoints
            n = len(node_endpoints) + 1; part_2 += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_4 in node_endpoints:
                part_2 += _p_i(one_4.node_id)
                host = one_4.host
                data = host.encode()
                n = len(data) + 1; part_2 += ONE_BYTE[n] if n < 128 else uvarint(n); part_2 += data
                part_2 += _p_i(one_4.port)
                rack = one_4.rack
                if rack is None: part_2 += b"\0"
                else:
                    data = rack.encode()
                    n = len(data) + 1; part_2 += ONE_BYTE[n] if n < 128 else uvarint(n); part_2 += data
                part_2 += b"\0"
            tagged_2 += uvarint(0) + uvarint(len(part_2)) + part_2; count_2 += 1
        out += uvarint(count_2) + tagged_2
    else:
        out += b"\0"
    return out


def encode_13(message: ProduceResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 13."""
    responses = message.responses
    n = len(responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in responses:
        out += _p_u(one.topic_id)
        partition_responses = one.partition_responses
        n = len(partition_responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partition_responses:
            out += _p_ihqqq(one_2.index, one_2.error_code, one_2.base_offset, one_2.log_append_time_ms, one_2.log_start_offset)
            record_errors = one_2.record_errors
            n = len(record_errors) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in record_errors:
                out += _p_i(one_3.batch_index)
                batch_index_error_message = one_3.batch_index_error_message
                if batch_index_error_message is None: out += b"\0"
                else:
                    data = batch_index_error_message.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += b"\0"
            error_message = one_2.error_message
            if error_message is None: out += b"\0"
            else:
                data = error_message.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            if one_2.current_leader is not None:
                tagged = bytearray(); count = 0
                if one_2.current_leader is not None:
                    part = bytearray()
                    part += _p_iix(one_2.current_leader.leader_id, one_2.current_leader.leader_epoch)
                    tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
                out += uvarint(count) + tagged
            else:
                out += b"\0"
        out += b"\0"
    out += _p_i(message.throttle_time_ms)
    if message.node_endpoints:
        tagged_2 = bytearray(); count_2 = 0
        if message.node_endpoints:
            part_2 = bytearray()
            node_endpoints = message.node_endpoints
            n = len(node_endpoints) + 1; part_2 += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_4 in node_endpoints:
                part_2 += _p_i(one_4.node_id)
                host = one_4.host
                data = host.encode()
                n = len(data) + 1; part_2 += ONE_BYTE[n] if n < 128 else uvarint(n); part_2 += data
                part_2 += _p_i(one_4.port)
                rack = one_4.rack
                if rack is None: part_2 += b"\0"
                else:
                    data = rack.encode()
                    n = len(data) + 1; part_2 += ONE_BYTE[n] if n < 128 else uvarint(n); part_2 += data
                part_2 += b"\0"
            tagged_2 += uvarint(0) + uvarint(len(part_2)) + part_2; count_2 += 1
        out += uvarint(count_2) + tagged_2
    else:
        out += b"\0"
    return out


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
ENCODERS: dict[int, Encoder[ProduceResponse]] = {
    3: encode_3,
    4: encode_3,
    5: encode_5,
    6: encode_5,
    7: encode_5,
    8: encode_8,
    9: encode_9,
    10: encode_10,
    11: encode_10,
    12: encode_10,
    13: encode_13,
}
