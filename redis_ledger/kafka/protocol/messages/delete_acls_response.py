"""Made by `make wire` from Apache Kafka's DeleteAclsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_bB = struct.Struct(">bB").unpack_from
_bb = struct.Struct(">bb").unpack_from
_bbB = struct.Struct(">bbB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
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


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteAclsResponse:
    """Version 1."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 8 <= end - pos: raise bad_length("filter_results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        filter_results: list[DeleteAclsFilterResult] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 14 <= end - pos: raise bad_length("matching_acls", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            matching_acls: list[DeleteAclsMatchingAcl] = []
            for _ in range(n):
                error_code_2, n = _hh(buf, pos); pos += 4
                if n == -1: error_message_2 = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                    error_message_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                resource_type, n = _bh(buf, pos); pos += 3
                if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
                resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
                pattern_type, n = _bh(buf, pos); pos += 3
                if not 0 <= n <= end - pos: raise bad_length("principal", n, end - pos)
                principal = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
                host = buf[pos : pos + n].tobytes().decode(); pos += n
                operation, permission_type = _bb(buf, pos); pos += 2
                matching_acls.append(DeleteAclsMatchingAcl(error_code_2, error_message_2, resource_type, resource_name, pattern_type, principal, host, operation, permission_type))
            filter_results.append(DeleteAclsFilterResult(error_code, error_message, matching_acls))
        if pos != end: raise left_over(end - pos)
        return DeleteAclsResponse(throttle_time_ms, filter_results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteAclsResponse:
    """Versions 2 to 3."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 5 <= end - pos: raise bad_length("filter_results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        filter_results: list[DeleteAclsFilterResult] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 11 <= end - pos: raise bad_length("matching_acls", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            matching_acls: list[DeleteAclsMatchingAcl] = []
            for _ in range(n):
                error_code_2, n = _hB(buf, pos); pos += 3
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: error_message_2 = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                    error_message_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                resource_type, n = _bB(buf, pos); pos += 2
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
                resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
                pattern_type, n = _bB(buf, pos); pos += 2
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
                matching_acls.append(DeleteAclsMatchingAcl(error_code_2, error_message_2, resource_type, resource_name, pattern_type, principal, host, operation, permission_type))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            filter_results.append(DeleteAclsFilterResult(error_code, error_message, matching_acls))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DeleteAclsResponse(throttle_time_ms, filter_results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[DeleteAclsResponse]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
}
ENCODERS: dict[int, Encoder[DeleteAclsResponse]] = {
    1: encode_1,
    2: encode_2,
    3: encode_2,
}
