"""Made by `make generate` from Apache Kafka's DescribeConfigsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_configs_response import DescribeConfigsResourceResult, DescribeConfigsResponse, DescribeConfigsResult, DescribeConfigsSynonym
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

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


DECODERS: dict[int, Decoder[DescribeConfigsResponse]] = {
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_4,
}
