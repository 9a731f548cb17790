"""Made by `make generate` from Apache Kafka's DeleteAclsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_bB = struct.Struct(">bB").unpack_from
_bb = struct.Struct(">bb").unpack_from
_bbB = struct.Struct(">bbB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from


class DeleteAclsFilter(Struct, gc=False):
    """The filters to use when deleting ACLs."""

    resource_type_filter: int = 0  # The resource type.
    resource_name_filter: str | None = ""  # The resource name, or null to match any resource name.
    pattern_type_filter: int = 3  # The pattern type.
    principal_filter: str | None = ""  # The principal filter, or null to accept all principals.
    host_filter: str | None = ""  # The host filter, or null to accept all hosts.
    operation: int = 0  # The ACL operation.
    permission_type: int = 0  # The permission type.


class DeleteAclsRequest(Struct, gc=False):
    filters: list[DeleteAclsFilter] = []  # The filters to use when deleting ACLs.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteAclsRequest:
    """Version 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 10 <= end - pos: raise bad_length("filters", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        filters: list[DeleteAclsFilter] = []
        for _ in range(n):
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
            filters.append(DeleteAclsFilter(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type))
        return DeleteAclsRequest(filters)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteAclsRequest:
    """Versions 2 to 3."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 8 <= end - pos: raise bad_length("filters", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        filters: list[DeleteAclsFilter] = []
        for _ in range(n):
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
            filters.append(DeleteAclsFilter(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DeleteAclsRequest(filters)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DeleteAclsRequest]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
}
