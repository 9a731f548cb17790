"""Made by `make generate` from Apache Kafka's DeleteAclsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_bb = struct.Struct(">bb").pack
_p_bbx = struct.Struct(">bbx").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


class DeleteAclsMatchingAcl(Struct, gc=False):
    """The ACLs which matched this filter."""

    error_code: int = 0  # The deletion error code, or 0 if the deletion succeeded.
    error_message: str | None = ""  # The deletion error message, or null if the deletion succeeded.
    resource_type: int = 0  # The ACL resource type.
    resource_name: str = ""  # The ACL resource name.
    pattern_type: int = 3  # The ACL resource pattern type.
    principal: str = ""  # The ACL principal.
    host: str = ""  # The ACL host.
    operation: int = 0  # The ACL operation.
    permission_type: int = 0  # The ACL permission type.


class DeleteAclsFilterResult(Struct, gc=False):
    """The results for each filter."""

    error_code: int = 0  # The error code, or 0 if the filter succeeded.
    error_message: str | None = ""  # The error message, or null if the filter succeeded.
    matching_acls: list[DeleteAclsMatchingAcl] = []  # The ACLs which matched this filter.


class DeleteAclsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    filter_results: list[DeleteAclsFilterResult] = []  # The results for each filter.


def encode_1(message: DeleteAclsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_i(message.throttle_time_ms)
    filter_results = message.filter_results
    out += _p_i(len(filter_results))
    for one in filter_results:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\xff\xff"
        else:
            data = error_message.encode()
            out += _p_h(len(data))
            out += data
        matching_acls = one.matching_acls
        out += _p_i(len(matching_acls))
        for one_2 in matching_acls:
            out += _p_h(one_2.error_code)
            error_message_2 = one_2.error_message
            if error_message_2 is None: out += b"\xff\xff"
            else:
                data = error_message_2.encode()
                out += _p_h(len(data))
                out += data
            out += _p_b(one_2.resource_type)
            resource_name = one_2.resource_name
            data = resource_name.encode()
            out += _p_h(len(data))
            out += data
            out += _p_b(one_2.pattern_type)
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


def encode_2(message: DeleteAclsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    out += _p_i(message.throttle_time_ms)
    filter_results = message.filter_results
    n = len(filter_results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in filter_results:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        matching_acls = one.matching_acls
        n = len(matching_acls) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in matching_acls:
            out += _p_h(one_2.error_code)
            error_message_2 = one_2.error_message
            if error_message_2 is None: out += b"\0"
            else:
                data = error_message_2.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += _p_b(one_2.resource_type)
            resource_name = one_2.resource_name
            data = resource_name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += _p_b(one_2.pattern_type)
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


ENCODERS: dict[int, Encoder[DeleteAclsResponse]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
}
