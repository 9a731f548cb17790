"""Made by `make generate` from Apache Kafka's CreateTopicsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import NO_UUID, ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_obox = struct.Struct(">?b?x").pack
_p_uh = struct.Struct(">16sh").pack


class CreatableTopicConfigs(Struct, gc=False):
    """Configuration of the topic."""

    name: str = ""  # The configuration name.
    value: str | None = ""  # The configuration value.
    read_only: bool = False  # True if the configuration is read-only.
    config_source: int = -1  # The configuration source.
    is_sensitive: bool = False  # True if this configuration is sensitive.


class CreatableTopicResult(Struct, gc=False):
    """Results for each topic we tried to create."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The unique topic ID.
    error_code: int = 0  # The error code, or 0 if there was no error.
    error_message: str | None = ""  # The error message, or null if there was no error.
    topic_config_error_code: int = 0  # Optional topic config error returned if configs are not returned in the response.
    num_partitions: int = -1  # Number of partitions of the topic.
    replication_factor: int = -1  # Replication factor of the topic.
    configs: list[CreatableTopicConfigs] | None = []  # Configuration of the topic.


class CreateTopicsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[CreatableTopicResult] = []  # Results for each topic we tried to create.


def encode_2(message: CreateTopicsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 4."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\xff\xff"
        else:
            data = error_message.encode()
            out += _p_h(len(data))
            out += data
    return out


def encode_5(message: CreateTopicsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 5 to 6."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ih(one.num_partitions, one.replication_factor)
        configs = one.configs
        if configs is None: out += b"\0"
        else:
            n = len(configs) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in configs:
                name_2 = one_2.name
                data = name_2.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                value = one_2.value
                if value is None: out += b"\0"
                else:
                    data = value.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += _p_obox(one_2.read_only, one_2.config_source, one_2.is_sensitive)
        if one.topic_config_error_code:
            tagged = bytearray(); count = 0
            if one.topic_config_error_code:
                part = bytearray()
                part += _p_h(one.topic_config_error_code)
                tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
            out += uvarint(count) + tagged
        else:
            out += b"\0"
    out += b"\0"
    return out


def encode_7(message: CreateTopicsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 7."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_uh(one.topic_id, one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ih(one.num_partitions, one.replication_factor)
        configs = one.configs
        if configs is None: out += b"\0"
        else:
            n = len(configs) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in configs:
                name_2 = one_2.name
                data = name_2.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                value = one_2.value
                if value is None: out += b"\0"
                else:
                    data = value.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += _p_obox(one_2.read_only, one_2.config_source, one_2.is_sensitive)
        if one.topic_config_error_code:
            tagged = bytearray(); count = 0
            if one.topic_config_error_code:
                part = bytearray()
                part += _p_h(one.topic_config_error_code)
                tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
            out += uvarint(count) + tagged
        else:
            out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[CreateTopicsResponse]] = {
    2: encode_2,
    3: encode_2,
    4: encode_2,
    5: encode_5,
    6: encode_5,
    7: encode_7,
}
