"""Made by `make wire` from Apache Kafka's DescribeAclsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_bB = struct.Struct(">bB").unpack_from
_bb = struct.Struct(">bb").unpack_from
_bbB = struct.Struct(">bbB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_bi = struct.Struct(">bi").unpack_from
_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihh = struct.Struct(">ihh").unpack_from
_p_b = struct.Struct(">b").pack
_p_bb = struct.Struct(">bb").pack
_p_bbx = struct.Struct(">bbx").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack


class AclDescription(Struct, gc=False):
    """The ACLs."""

    principal: str = ""  # The ACL principal.
    host: str = ""  # The ACL host.
    operation: int = 0  # The ACL operation.
    permission_type: int = 0  # The ACL permission type.


class DescribeAclsResource(Struct, gc=False):
    """Each Resource that is referenced in an ACL."""

    resource_type: int = 0  # The resource type.
    resource_name: str = ""  # The resource name.
    pattern_type: int = 3  # The resource pattern type.
    acls: list[AclDescription] = []  # The ACLs.


class DescribeAclsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    error_message: str | None = ""  # The error message, or null if there was no error.
    resources: list[DescribeAclsResource] = []  # Each Resource that is referenced in an ACL.


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


def encode_1(message: DescribeAclsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\xff\xff"
    else:
        data = error_message.encode()
        out += _p_h(len(data))
        out += data
    resources = message.resources
    out += _p_i(len(resources))
    for one in resources:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_b(one.pattern_type)
        acls = one.acls
        out += _p_i(len(acls))
        for one_2 in acls:
            principal = one_2.principal
            data = principal.encode()
            out += _p_h(len(data))
            out += data
            host = one_2.host
            data = host.encode()
            out += _p_h(len(data))
            out += data
            out += _p_bb(one_2.operation, one_2.permission_type)
    return out


def encode_2(message: DescribeAclsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\0"
    else:
        data = error_message.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    resources = message.resources
    n = len(resources) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in resources:
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_b(one.pattern_type)
        acls = one.acls
        n = len(acls) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in acls:
            principal = one_2.principal
            data = principal.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            host = one_2.host
            data = host.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += _p_bbx(one_2.operation, one_2.permission_type)
        out += b"\0"
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[DescribeAclsResponse]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
}
ENCODERS: dict[int, Encoder[DescribeAclsResponse]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
}
