"""Made by `make generate` from Apache Kafka's DescribeAclsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

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


ENCODERS: dict[int, Encoder[DescribeAclsResponse]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
}
