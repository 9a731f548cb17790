"""Made by `make generate` from Apache Kafka's DescribeAclsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_string, skip_tags

_bB = struct.Struct(">bB").unpack_from
_bb = struct.Struct(">bb").unpack_from
_bbB = struct.Struct(">bbB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_h = struct.Struct(">h").unpack_from


class DescribeAclsRequest(Struct, gc=False):
    resource_type_filter: int = 0  # The resource type.
    resource_name_filter: str | None = ""  # The resource name, or null to match any resource name.
    pattern_type_filter: int = 3  # The resource pattern to match.
    principal_filter: str | None = ""  # The principal to match, or null to match any principal.
    host_filter: str | None = ""  # The host to match, or null to match any host.
    operation: int = 0  # The operation to match.
    permission_type: int = 0  # The permission type to match.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeAclsRequest:
    """Version 1."""
    end = len(buf)
    try:
        resource_type_filter, n = _bh(buf, pos); pos += 3
        if n == -1: resource_name_filter = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("resource_name_filter", n, end - pos)
            resource_name_filter = buf[pos : pos + n].tobytes().decode(); pos += n
        pattern_type_filter, n = _bh(buf, pos); pos += 3
        if n == -1: principal_filter = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("principal_filter", n, end - pos)
            principal_filter = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if n == -1: host_filter = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("host_filter", n, end - pos)
            host_filter = buf[pos : pos + n].tobytes().decode(); pos += n
        operation, permission_type = _bb(buf, pos); pos += 2
        return DescribeAclsRequest(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeAclsRequest:
    """Versions 2 to 3."""
    end = len(buf)
    try:
        resource_type_filter, n = _bB(buf, pos); pos += 2
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: resource_name_filter = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("resource_name_filter", n, end - pos)
            resource_name_filter = buf[pos : pos + n].tobytes().decode(); pos += n
        pattern_type_filter, n = _bB(buf, pos); pos += 2
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: principal_filter = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("principal_filter", n, end - pos)
            principal_filter = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: host_filter = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("host_filter", n, end - pos)
            host_filter = buf[pos : pos + n].tobytes().decode(); pos += n
        operation, permission_type, n = _bbB(buf, pos); pos += 3
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeAclsRequest(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeAclsRequest]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
}
