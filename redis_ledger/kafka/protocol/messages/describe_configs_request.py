"""Made by `make generate` from Apache Kafka's DescribeConfigsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_bB = struct.Struct(">bB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_o = struct.Struct(">?").unpack_from
_oo = struct.Struct(">??").unpack_from
_ooB = struct.Struct(">??B").unpack_from


class DescribeConfigsResource(Struct, gc=False):
    """The resources whose configurations we want to describe."""

    resource_type: int = 0  # The resource type.
    resource_name: str = ""  # The resource name.
    configuration_keys: list[str] | None = []  # The configuration keys to list, or null to list all configuration keys.


class DescribeConfigsRequest(Struct, gc=False):
    resources: list[DescribeConfigsResource] = []  # The resources whose configurations we want to describe.
    include_synonyms: bool = False  # True if we should include all synonyms.
    include_documentation: bool = False  # True if we should include configuration documentation.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeConfigsRequest:
    """Versions 1 to 2."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 7 <= end - pos: raise bad_length("resources", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        resources: list[DescribeConfigsResource] = []
        for _ in range(n):
            resource_type, n = _bh(buf, pos); pos += 3
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            configuration_keys: list[str] | None = None
            if n != -1:
                if not 0 <= n * 2 <= end - pos: raise bad_length("configuration_keys", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                configuration_keys = []
                for _ in range(n):
                    (n,) = _h(buf, pos); pos += 2
                    if not 0 <= n <= end - pos: raise bad_length("configuration_keys", n, end - pos)
                    one = buf[pos : pos + n].tobytes().decode(); pos += n
                    configuration_keys.append(one)
            resources.append(DescribeConfigsResource(resource_type, resource_name, configuration_keys))
        (include_synonyms,) = _o(buf, pos); pos += 1
        return DescribeConfigsRequest(resources, include_synonyms, False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeConfigsRequest:
    """Version 3."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 7 <= end - pos: raise bad_length("resources", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        resources: list[DescribeConfigsResource] = []
        for _ in range(n):
            resource_type, n = _bh(buf, pos); pos += 3
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            configuration_keys: list[str] | None = None
            if n != -1:
                if not 0 <= n * 2 <= end - pos: raise bad_length("configuration_keys", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                configuration_keys = []
                for _ in range(n):
                    (n,) = _h(buf, pos); pos += 2
                    if not 0 <= n <= end - pos: raise bad_length("configuration_keys", n, end - pos)
                    one = buf[pos : pos + n].tobytes().decode(); pos += n
                    configuration_keys.append(one)
            resources.append(DescribeConfigsResource(resource_type, resource_name, configuration_keys))
        include_synonyms, include_documentation = _oo(buf, pos); pos += 2
        return DescribeConfigsRequest(resources, include_synonyms, include_documentation)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeConfigsRequest:
    """Version 4."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 4 <= end - pos: raise bad_length("resources", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        resources: list[DescribeConfigsResource] = []
        for _ in range(n):
            resource_type, n = _bB(buf, pos); pos += 2
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            configuration_keys: list[str] | None = None
            if n != -1:
                if not 0 <= n <= end - pos: raise bad_length("configuration_keys", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                configuration_keys = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("configuration_keys", n, end - pos)
                    one = buf[pos : pos + n].tobytes().decode(); pos += n
                    configuration_keys.append(one)
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            resources.append(DescribeConfigsResource(resource_type, resource_name, configuration_keys))
        include_synonyms, include_documentation, n = _ooB(buf, pos); pos += 3
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeConfigsRequest(resources, include_synonyms, include_documentation)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeConfigsRequest]] = {
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_4,
}
