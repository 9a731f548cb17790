"""Made by `make wire` from Apache Kafka's CreateAclsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, long_length, long_string, skip_tags, too_many, uvarint

_bB = struct.Struct(">bB").unpack_from
_bb = struct.Struct(">bb").unpack_from
_bbB = struct.Struct(">bbB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_p_b = struct.Struct(">b").pack
_p_bb = struct.Struct(">bb").pack
_p_bbx = struct.Struct(">bbx").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


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


def encode_1(message: CreateAclsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    creations = message.creations
    out += _p_i(len(creations))
    for one in creations:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_b(one.resource_pattern_type)
        principal = one.principal
        data = principal.encode()
        out += _p_h(len(data))
        out += data
        host = one.host
        data = host.encode()
        out += _p_h(len(data))
        out += data
        out += _p_bb(one.operation, one.permission_type)
    return out


def encode_2(message: CreateAclsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    creations = message.creations
    n = len(creations) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in creations:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_b(one.resource_pattern_type)
        principal = one.principal
        data = principal.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        host = one.host
        data = host.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_bbx(one.operation, one.permission_type)
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[CreateAclsRequest]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
}
ENCODERS: dict[int, Encoder[CreateAclsRequest]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
}
