"""Made by `make generate` from Apache Kafka's DescribeConfigsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_bx = struct.Struct(">bx").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_obo = struct.Struct(">?b?").pack


class DescribeConfigsSynonym(Struct, gc=False):
    """The synonyms for this configuration key."""

    name: str = ""  # The synonym name.
    value: str | None = ""  # The synonym value.
    source: int = 0  # The synonym source.


class DescribeConfigsResourceResult(Struct, gc=False):
    """Each listed configuration."""

    name: str = ""  # The configuration name.
    value: str | None = ""  # The configuration value.
    read_only: bool = False  # True if the configuration is read-only.
    config_source: int = -1  # The configuration source.
    is_sensitive: bool = False  # True if this configuration is sensitive.
    synonyms: list[DescribeConfigsSynonym] = []  # The synonyms for this configuration key.
    config_type: int = 0  # The configuration data type. Type can be one of the following values - BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD.
    documentation: str | None = ""  # The configuration documentation.


class DescribeConfigsResult(Struct, gc=False):
    """The results for each resource."""

    error_code: int = 0  # The error code, or 0 if we were able to successfully describe the configurations.
    error_message: str | None = ""  # The error message, or null if we were able to successfully describe the configurations.
    resource_type: int = 0  # The resource type.
    resource_name: str = ""  # The resource name.
    configs: list[DescribeConfigsResourceResult] = []  # Each listed configuration.


class DescribeConfigsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    results: list[DescribeConfigsResult] = []  # The results for each resource.


def encode_1(message: DescribeConfigsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    out += _p_i(message.throttle_time_ms)
    results = message.results
    out += _p_i(len(results))
    for one in results:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\xff\xff"
        else:
            data = error_message.encode()
            out += _p_h(len(data))
            out += data
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        out += _p_h(len(data))
        out += data
        configs = one.configs
        out += _p_i(len(configs))
        for one_2 in configs:
            name = one_2.name
            data = name.encode()
            out += _p_h(len(data))
            out += data
            value = one_2.value
            if value is None: out += b"\xff\xff"
            else:
                data = value.encode()
                out += _p_h(len(data))
                out += data
            out += _p_obo(one_2.read_only, one_2.config_source, one_2.is_sensitive)
            synonyms = one_2.synonyms
            out += _p_i(len(synonyms))
            for one_3 in synonyms:
                name_2 = one_3.name
                data = name_2.encode()
                out += _p_h(len(data))
                out += data
                value_2 = one_3.value
                if value_2 is None: out += b"\xff\xff"
                else:
                    data = value_2.encode()
                    out += _p_h(len(data))
                    out += data
                out += _p_b(one_3.source)
    return out


def encode_3(message: DescribeConfigsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_i(message.throttle_time_ms)
    results = message.results
    out += _p_i(len(results))
    for one in results:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\xff\xff"
        else:
            data = error_message.encode()
            out += _p_h(len(data))
            out += data
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        out += _p_h(len(data))
        out += data
        configs = one.configs
        out += _p_i(len(configs))
        for one_2 in configs:
            name = one_2.name
            data = name.encode()
            out += _p_h(len(data))
            out += data
            value = one_2.value
            if value is None: out += b"\xff\xff"
            else:
                data = value.encode()
                out += _p_h(len(data))
                out += data
            out += _p_obo(one_2.read_only, one_2.config_source, one_2.is_sensitive)
            synonyms = one_2.synonyms
            out += _p_i(len(synonyms))
            for one_3 in synonyms:
                name_2 = one_3.name
                data = name_2.encode()
                out += _p_h(len(data))
                out += data
                value_2 = one_3.value
                if value_2 is None: out += b"\xff\xff"
                else:
                    data = value_2.encode()
                    out += _p_h(len(data))
                    out += data
                out += _p_b(one_3.source)
            out += _p_b(one_2.config_type)
            documentation = one_2.documentation
            if documentation is None: out += b"\xff\xff"
            else:
                data = documentation.encode()
                out += _p_h(len(data))
                out += data
    return out


def encode_4(message: DescribeConfigsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_i(message.throttle_time_ms)
    results = message.results
    n = len(results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        configs = one.configs
        n = len(configs) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in configs:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            value = one_2.value
            if value is None: out += b"\0"
            else:
                data = value.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += _p_obo(one_2.read_only, one_2.config_source, one_2.is_sensitive)
            synonyms = one_2.synonyms
            n = len(synonyms) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in synonyms:
                name_2 = one_3.name
                data = name_2.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                value_2 = one_3.value
                if value_2 is None: out += b"\0"
                else:
                    data = value_2.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += _p_bx(one_3.source)
            out += _p_b(one_2.config_type)
            documentation = one_2.documentation
            if documentation is None: out += b"\0"
            else:
                data = documentation.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeConfigsResponse]] = {
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
}
