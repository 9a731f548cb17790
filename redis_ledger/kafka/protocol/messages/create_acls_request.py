"""Made by `make generate` from Apache Kafka's CreateAclsRequest.json (Apache License 2.0); do not edit."""

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


class AclCreation(Struct, gc=False):
    """The ACLs that we want to create."""

    resource_type: int = 0  # The type of the resource.
    resource_name: str = ""  # The resource name for the ACL.
    resource_pattern_type: int = 3  # The pattern type for the ACL.
    principal: str = ""  # The principal for the ACL.
    host: str = ""  # The host for the ACL.
    operation: int = 0  # The operation type for the ACL (read, write, etc.).
    permission_type: int = 0  # The permission type for the ACL (allow, deny, etc.).


class CreateAclsRequest(Struct, gc=False):
    creations: list[AclCreation] = []  # The ACLs that we want to create.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> CreateAclsRequest:
    """Version 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 10 <= end - pos: raise bad_length("creations", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        creations: list[AclCreation] = []
        for _ in range(n):
            resource_type, n = _bh(buf, pos); pos += 3
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            resource_pattern_type, n = _bh(buf, pos); pos += 3
            if not 0 <= n <= end - pos: raise bad_length("principal", n, end - pos)
            principal = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            operation, permission_type = _bb(buf, pos); pos += 2
            creations.append(AclCreation(resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type))
        return CreateAclsRequest(creations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> CreateAclsRequest:
    """Versions 2 to 3."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 8 <= end - pos: raise bad_length("creations", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        creations: list[AclCreation] = []
        for _ in range(n):
            resource_type, n = _bB(buf, pos); pos += 2
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            resource_pattern_type, n = _bB(buf, pos); pos += 2
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
            creations.append(AclCreation(resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return CreateAclsRequest(creations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[CreateAclsRequest]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
}
