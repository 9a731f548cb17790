"""Made by `make wire` from Apache Kafka's DescribeConfigsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_b = struct.Struct(">b").unpack_from
_bB = struct.Struct(">bB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_oboB = struct.Struct(">?b?B").unpack_from
_oboi = struct.Struct(">?b?i").unpack_from
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


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeConfigsResponse:
    """Versions 1 to 2."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 11 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DescribeConfigsResult] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            resource_type, n = _bh(buf, pos); pos += 3
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 11 <= end - pos: raise bad_length("configs", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            configs: list[DescribeConfigsResourceResult] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if n == -1: value = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                    value = buf[pos : pos + n].tobytes().decode(); pos += n
                read_only, config_source, is_sensitive, n = _oboi(buf, pos); pos += 7
                if not 0 <= n * 5 <= end - pos: raise bad_length("synonyms", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                synonyms: list[DescribeConfigsSynonym] = []
                for _ in range(n):
                    (n,) = _h(buf, pos); pos += 2
                    if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                    name_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    (n,) = _h(buf, pos); pos += 2
                    if n == -1: value_2 = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                        value_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    (source,) = _b(buf, pos); pos += 1
                    synonyms.append(DescribeConfigsSynonym(name_2, value_2, source))
                configs.append(DescribeConfigsResourceResult(name, value, read_only, config_source, is_sensitive, synonyms, 0, ""))
            results.append(DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs))
        if pos != end: raise left_over(end - pos)
        return DescribeConfigsResponse(throttle_time_ms, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeConfigsResponse:
    """Version 3."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 11 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DescribeConfigsResult] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            resource_type, n = _bh(buf, pos); pos += 3
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 14 <= end - pos: raise bad_length("configs", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            configs: list[DescribeConfigsResourceResult] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if n == -1: value = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                    value = buf[pos : pos + n].tobytes().decode(); pos += n
                read_only, config_source, is_sensitive, n = _oboi(buf, pos); pos += 7
                if not 0 <= n * 5 <= end - pos: raise bad_length("synonyms", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                synonyms: list[DescribeConfigsSynonym] = []
                for _ in range(n):
                    (n,) = _h(buf, pos); pos += 2
                    if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                    name_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    (n,) = _h(buf, pos); pos += 2
                    if n == -1: value_2 = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                        value_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    (source,) = _b(buf, pos); pos += 1
                    synonyms.append(DescribeConfigsSynonym(name_2, value_2, source))
                config_type, n = _bh(buf, pos); pos += 3
                if n == -1: documentation = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("documentation", n, end - pos)
                    documentation = buf[pos : pos + n].tobytes().decode(); pos += n
                configs.append(DescribeConfigsResourceResult(name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation))
            results.append(DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs))
        if pos != end: raise left_over(end - pos)
        return DescribeConfigsResponse(throttle_time_ms, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeConfigsResponse:
    """Version 4."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 7 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DescribeConfigsResult] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            resource_type, n = _bB(buf, pos); pos += 2
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 9 <= end - pos: raise bad_length("configs", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            configs: list[DescribeConfigsResourceResult] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: value = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                    value = buf[pos : pos + n].tobytes().decode(); pos += n
                read_only, config_source, is_sensitive, n = _oboB(buf, pos); pos += 4
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("synonyms", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                synonyms: list[DescribeConfigsSynonym] = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                    name_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: value_2 = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                        value_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    source, n = _bB(buf, pos); pos += 2
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    synonyms.append(DescribeConfigsSynonym(name_2, value_2, source))
                config_type, n = _bB(buf, pos); pos += 2
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: documentation = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("documentation", n, end - pos)
                    documentation = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                configs.append(DescribeConfigsResourceResult(name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            results.append(DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeConfigsResponse(throttle_time_ms, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[DescribeConfigsResponse]] = {
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_4,
}
ENCODERS: dict[int, Encoder[DescribeConfigsResponse]] = {
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
}
