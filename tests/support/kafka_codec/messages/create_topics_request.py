"""Made by `make generate` from Apache Kafka's CreateTopicsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.create_topics_request import CreateTopicsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_io = struct.Struct(">i?").pack
_p_iox = struct.Struct(">i?x").pack


def encode_2(message: CreateTopicsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 4."""
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_ih(one.num_partitions, one.replication_factor)
        assignments = one.assignments
        out += _p_i(len(assignments))
        for one_2 in assignments:
            out += _p_i(one_2.partition_index)
            broker_ids = one_2.broker_ids
            out += _p_i(len(broker_ids))
            out += pack_array("i", broker_ids)
        configs = one.configs
        out += _p_i(len(configs))
        for one_3 in configs:
            name_2 = one_3.name
            data = name_2.encode()
            out += _p_h(len(data))
            out += data
            value = one_3.value
            if value is None: out += b"\xff\xff"
            else:
                data = value.encode()
                out += _p_h(len(data))
                out += data
    out += _p_io(message.timeout_ms, message.validate_only)
    return out


def encode_5(message: CreateTopicsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 5 to 7."""
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ih(one.num_partitions, one.replication_factor)
        assignments = one.assignments
        n = len(assignments) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in assignments:
            out += _p_i(one_2.partition_index)
            broker_ids = one_2.broker_ids
            n = len(broker_ids) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", broker_ids)
            out += b"\0"
        configs = one.configs
        n = len(configs) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_3 in configs:
            name_2 = one_3.name
            data = name_2.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            value = one_3.value
            if value is None: out += b"\0"
            else:
                data = value.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
        out += b"\0"
    out += _p_iox(message.timeout_ms, message.validate_only)
    return out


ENCODERS: dict[int, Encoder[CreateTopicsRequest]] = {
    2: encode_2,
    3: encode_2,
    4: encode_2,
    5: encode_5,
    6: encode_5,
    7: encode_5,
}
