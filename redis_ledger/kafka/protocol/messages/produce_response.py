"""Made by `make generate` from Apache Kafka's ProduceResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import NO_UUID, ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ihqq = struct.Struct(">ihqq").pack
_p_ihqqq = struct.Struct(">ihqqq").pack
_p_iix = struct.Struct(">iix").pack
_p_ix = struct.Struct(">ix").pack
_p_u = struct.Struct(">16s").pack


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
