"""Made by `make generate` from Apache Kafka's AlterConfigsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_bB = struct.Struct(">bB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AlterConfigsResponse:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 7 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[AlterConfigsResourceResponse] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            resource_type, n = _bh(buf, pos); pos += 3
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            responses.append(AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name))
        if pos != end: raise left_over(end - pos)
        return AlterConfigsResponse(throttle_time_ms, responses)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AlterConfigsResponse:
    """Version 2."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 6 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[AlterConfigsResourceResponse] = []
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
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return AlterConfigsResponse(throttle_time_ms, responses)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[AlterConfigsResponse]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
}
