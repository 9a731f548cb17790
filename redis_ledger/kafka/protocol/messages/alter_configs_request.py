"""Made by `make generate` from Apache Kafka's AlterConfigsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_bB = struct.Struct(">bB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_o = struct.Struct(">?").unpack_from
_oB = struct.Struct(">?B").unpack_from


class AlterableConfig(Struct, gc=False):
    """The configurations."""

    name: str = ""  # The configuration key name.
    value: str | None = ""  # The value to set for the configuration key.


class AlterConfigsResource(Struct, gc=False):
    """The updates for each resource."""

    resource_type: int = 0  # The resource type.
    resource_name: str = ""  # The resource name.
    configs: list[AlterableConfig] = []  # The configurations.


class AlterConfigsRequest(Struct, gc=False):
    resources: list[AlterConfigsResource] = []  # The updates for each resource.
    validate_only: bool = False  # True if we should validate the request, but not change the configurations.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AlterConfigsRequest:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 7 <= end - pos: raise bad_length("resources", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        resources: list[AlterConfigsResource] = []
        for _ in range(n):
            resource_type, n = _bh(buf, pos); pos += 3
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("configs", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            configs: list[AlterableConfig] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if n == -1: value = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                    value = buf[pos : pos + n].tobytes().decode(); pos += n
                configs.append(AlterableConfig(name, value))
            resources.append(AlterConfigsResource(resource_type, resource_name, configs))
        (validate_only,) = _o(buf, pos); pos += 1
        return AlterConfigsRequest(resources, validate_only)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AlterConfigsRequest:
    """Version 2."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 4 <= end - pos: raise bad_length("resources", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        resources: list[AlterConfigsResource] = []
        for _ in range(n):
            resource_type, n = _bB(buf, pos); pos += 2
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("configs", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            configs: list[AlterableConfig] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: value = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                    value = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                configs.append(AlterableConfig(name, value))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            resources.append(AlterConfigsResource(resource_type, resource_name, configs))
        validate_only, n = _oB(buf, pos); pos += 2
        if n: pos, room = skip_tags(buf, pos, n, room)
        return AlterConfigsRequest(resources, validate_only)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[AlterConfigsRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
}
