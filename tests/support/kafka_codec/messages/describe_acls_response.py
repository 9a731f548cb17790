"""Made by `make generate` from Apache Kafka's DescribeAclsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_acls_response import AclDescription, DescribeAclsResource, DescribeAclsResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_bB = struct.Struct(">bB").unpack_from
_bb = struct.Struct(">bb").unpack_from
_bbB = struct.Struct(">bbB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_bi = struct.Struct(">bi").unpack_from
_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihh = struct.Struct(">ihh").unpack_from


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeAclsResponse:
    """Version 1."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihh(buf, pos); pos += 8
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 8 <= end - pos: raise bad_length("resources", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        resources: list[DescribeAclsResource] = []
        for _ in range(n):
            resource_type, n = _bh(buf, pos); pos += 3
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            pattern_type, n = _bi(buf, pos); pos += 5
            if not 0 <= n * 6 <= end - pos: raise bad_length("acls", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            acls: list[AclDescription] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("principal", n, end - pos)
                principal = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
                host = buf[pos : pos + n].tobytes().decode(); pos += n
                operation, permission_type = _bb(buf, pos); pos += 2
                acls.append(AclDescription(principal, host, operation, permission_type))
            resources.append(DescribeAclsResource(resource_type, resource_name, pattern_type, acls))
        if pos != end: raise left_over(end - pos)
        return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeAclsResponse:
    """Versions 2 to 3."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 5 <= end - pos: raise bad_length("resources", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        resources: list[DescribeAclsResource] = []
        for _ in range(n):
            resource_type, n = _bB(buf, pos); pos += 2
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            pattern_type, n = _bB(buf, pos); pos += 2
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 5 <= end - pos: raise bad_length("acls", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            acls: list[AclDescription] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("principal", n, end - pos)
                principal = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
                host = buf[pos : pos + n].tobytes().decode(); pos += n
                operation, permission_type, n = _bbB(buf, pos); pos += 3
                if n: pos, room = skip_tags(buf, pos, n, room)
                acls.append(AclDescription(principal, host, operation, permission_type))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            resources.append(DescribeAclsResource(resource_type, resource_name, pattern_type, acls))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeAclsResponse]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
}
