"""Made by `make generate` from Apache Kafka's FetchRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.fetch_request import FetchRequest
from redis_ledger.kafka.protocol.primitives import NO_UUID, ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_iiibii = struct.Struct(">iiibii").pack
_p_iiiib = struct.Struct(">iiiib").pack
_p_iiiibii = struct.Struct(">iiiibii").pack
_p_iiqiqi = struct.Struct(">iiqiqi").pack
_p_iiqiqix = struct.Struct(">iiqiqix").pack
_p_iiqqi = struct.Struct(">iiqqi").pack
_p_iqi = struct.Struct(">iqi").pack
_p_iqqi = struct.Struct(">iqqi").pack
_p_iqx = struct.Struct(">iqx").pack
_p_u = struct.Struct(">16s").pack


def encode_4(message: FetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_iiiib(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iqi(one_2.partition, one_2.fetch_offset, one_2.partition_max_bytes)
    return out


def encode_5(message: FetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 5 to 6."""
    out += _p_iiiib(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iqqi(one_2.partition, one_2.fetch_offset, one_2.log_start_offset, one_2.partition_max_bytes)
    return out


def encode_7(message: FetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 7 to 8."""
    out += _p_iiiibii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iqqi(one_2.partition, one_2.fetch_offset, one_2.log_start_offset, one_2.partition_max_bytes)
    forgotten_topics_data = message.forgotten_topics_data
    out += _p_i(len(forgotten_topics_data))
    for one_3 in forgotten_topics_data:
        topic_2 = one_3.topic
        data = topic_2.encode()
        out += _p_h(len(data))
        out += data
        partitions_2 = one_3.partitions
        out += _p_i(len(partitions_2))
        out += pack_array("i", partitions_2)
    return out


def encode_9(message: FetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 9 to 10."""
    out += _p_iiiibii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iiqqi(one_2.partition, one_2.current_leader_epoch, one_2.fetch_offset, one_2.log_start_offset, one_2.partition_max_bytes)
    forgotten_topics_data = message.forgotten_topics_data
    out += _p_i(len(forgotten_topics_data))
    for one_3 in forgotten_topics_data:
        topic_2 = one_3.topic
        data = topic_2.encode()
        out += _p_h(len(data))
        out += data
        partitions_2 = one_3.partitions
        out += _p_i(len(partitions_2))
        out += pack_array("i", partitions_2)
    return out


def encode_11(message: FetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 11."""
    out += _p_iiiibii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iiqqi(one_2.partition, one_2.current_leader_epoch, one_2.fetch_offset, one_2.log_start_offset, one_2.partition_max_bytes)
    forgotten_topics_data = message.forgotten_topics_data
    out += _p_i(len(forgotten_topics_data))
    for one_3 in forgotten_topics_data:
        topic_2 = one_3.topic
        data = topic_2.encode()
        out += _p_h(len(data))
        out += data
        partitions_2 = one_3.partitions
        out += _p_i(len(partitions_2))
        out += pack_array("i", partitions_2)
    rack_id = message.rack_id
    data = rack_id.encode()
    out += _p_h(len(data))
    out += data
    return out


def encode_12(message: FetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 12."""
    out += _p_iiiibii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        topic = one.topic
        data = topic.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_iiqiqix(one_2.partition, one_2.current_leader_epoch, one_2.fetch_offset, one_2.last_fetched_epoch, one_2.log_start_offset, one_2.partition_max_bytes)
        out += b"\0"
    forgotten_topics_data = message.forgotten_topics_data
    n = len(forgotten_topics_data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_3 in forgotten_topics_data:
        topic_2 = one_3.topic
        data = topic_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions_2 = one_3.partitions
        n = len(partitions_2) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        out += pack_array("i", partitions_2)
        out += b"\0"
    rack_id = message.rack_id
    data = rack_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    if message.cluster_id is not None:
        tagged = bytearray(); count = 0
        if message.cluster_id is not None:
            part = bytearray()
            cluster_id = message.cluster_id
            if cluster_id is None: part += b"\0"
            else:
                data = cluster_id.encode()
                n = len(data) + 1; part += ONE_BYTE[n] if n < 128 else uvarint(n); part += data
            tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
        out += uvarint(count) + tagged
    else:
        out += b"\0"
    return out


def encode_13(message: FetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 13 to 14."""
    out += _p_iiiibii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        out += _p_u(one.topic_id)
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_iiqiqix(one_2.partition, one_2.current_leader_epoch, one_2.fetch_offset, one_2.last_fetched_epoch, one_2.log_start_offset, one_2.partition_max_bytes)
        out += b"\0"
    forgotten_topics_data = message.forgotten_topics_data
    n = len(forgotten_topics_data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_3 in forgotten_topics_data:
        out += _p_u(one_3.topic_id)
        partitions_2 = one_3.partitions
        n = len(partitions_2) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        out += pack_array("i", partitions_2)
        out += b"\0"
    rack_id = message.rack_id
    data = rack_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    if message.cluster_id is not None:
        tagged = bytearray(); count = 0
        if message.cluster_id is not None:
            part = bytearray()
            cluster_id = message.cluster_id
            if cluster_id is None: part += b"\0"
            else:
                data = cluster_id.encode()
                n = len(data) + 1; part += ONE_BYTE[n] if n < 128 else uvarint(n); part += data
            tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
        out += uvarint(count) + tagged
    else:
        out += b"\0"
    return out


def encode_15(message: FetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 15 to 16."""
    out += _p_iiibii(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        out += _p_u(one.topic_id)
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_iiqiqix(one_2.partition, one_2.current_leader_epoch, one_2.fetch_offset, one_2.last_fetched_epoch, one_2.log_start_offset, one_2.partition_max_bytes)
        out += b"\0"
    forgotten_topics_data = message.forgotten_topics_data
    n = len(forgotten_topics_data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_3 in forgotten_topics_data:
        out += _p_u(one_3.topic_id)
        partitions_2 = one_3.partitions
        n = len(partitions_2) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        out += pack_array("i", partitions_2)
        out += b"\0"
    rack_id = message.rack_id
    data = rack_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    if message.cluster_id is not None or message.replica_state is not None:
        tagged = bytearray(); count = 0
        if message.cluster_id is not None:
            part = bytearray()
            cluster_id = message.cluster_id
            if cluster_id is None: part += b"\0"
            else:
                data = cluster_id.encode()
                n = len(data) + 1; part += ONE_BYTE[n] if n < 128 else uvarint(n); part += data
            tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
        if message.replica_state is not None:
            part_2 = bytearray()
            part_2 += _p_iqx(message.replica_state.replica_id, message.replica_state.replica_epoch)
            tagged += uvarint(1) + uvarint(len(part_2)) + part_2; count += 1
        out += uvarint(count) + tagged
    else:
        out += b"\0"
    return out


def encode_17(message: FetchRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 17."""
    out += _p_iiibii(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        out += _p_u(one.topic_id)
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_iiqiqi(one_2.partition, one_2.current_leader_epoch, one_2.fetch_offset, one_2.last_fetched_epoch, one_2.log_start_offset, one_2.partition_max_bytes)
            if one_2.replica_directory_id != NO_UUID:
                tagged = bytearray(); count = 0
                if one_2.replica_directory_id != NO_UUID:
                    part = bytearray()
                    part += _p_u(one_2.replica_directory_id)
                    tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
                out += uvarint(count) + tagged
            else:
                out += b"\0"
        out += b"\0"
    forgotten_topics_data = message.forgotten_topics_data
    n = len(forgotten_topics_data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_3 in forgotten_topics_data:
        out += _p_u(one_3.topic_id)
        partitions_2 = one_3.partitions
        n = len(partitions_2) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        out += pack_array("i", partitions_2)
        out += b"\0"
    rack_id = message.rack_id
    data = rack_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    if message.cluster_id is not None or message.replica_state is not None:
        tagged_2 = bytearray(); count_2 = 0
        if message.cluster_id is not None:
            part_2 = bytearray()
            cluster_id = message.cluster_id
            if cluster_id is None: part_2 += b"\0"
            else:
                data = cluster_id.encode()
                n = len(data) + 1; part_2 += ONE_BYTE[n] if n < 128 else uvarint(n); part_2 += data
            tagged_2 += uvarint(0) + uvarint(len(part_2)) + part_2; count_2 += 1
        if message.replica_state is not None:
            part_3 = bytearray()
            part_3 += _p_iqx(message.replica_state.replica_id, message.replica_state.replica_epoch)
            tagged_2 += uvarint(1) + uvarint(len(part_3)) + part_3; count_2 += 1
        out += uvarint(count_2) + tagged_2
    else:
        out += b"\0"
    return out


ENCODERS: dict[int, Encoder[FetchRequest]] = {
    4: encode_4,
    5: encode_5,
    6: encode_5,
    7: encode_7,
    8: encode_7,
    9: encode_9,
    10: encode_9,
    11: encode_11,
    12: encode_12,
    13: encode_13,
    14: encode_13,
    15: encode_15,
    16: encode_15,
    17: encode_17,
}
