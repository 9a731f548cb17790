"""Made by `make generate` from Apache Kafka's ApiVersionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, bad_tag, left_over, long_length, long_string, skip_tags, tag_head, too_many

_hB = struct.Struct(">hB").unpack_from
_hhB = struct.Struct(">hhB").unpack_from
_hhh = struct.Struct(">hhh").unpack_from
_hhhB = struct.Struct(">hhhB").unpack_from
_hi = struct.Struct(">hi").unpack_from
_i = struct.Struct(">i").unpack_from
_o = struct.Struct(">?").unpack_from
_q = struct.Struct(">q").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ApiVersionsResponse:
    """Version 0."""
    end = len(buf)
    try:
        error_code, n = _hi(buf, pos); pos += 6
        if not 0 <= n * 6 <= end - pos: raise bad_length("api_keys", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        api_keys: list[ApiVersion] = []
        for _ in range(n):
            api_key, min_version, max_version = _hhh(buf, pos); pos += 6
            api_keys.append(ApiVersion(api_key, min_version, max_version))
        if pos != end: raise left_over(end - pos)
        return ApiVersionsResponse(error_code, api_keys, 0, [], -1, [], False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ApiVersionsResponse:
    """Versions 1 to 2."""
    end = len(buf)
    try:
        error_code, n = _hi(buf, pos); pos += 6
        if not 0 <= n * 6 <= end - pos: raise bad_length("api_keys", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        api_keys: list[ApiVersion] = []
        for _ in range(n):
            api_key, min_version, max_version = _hhh(buf, pos); pos += 6
            api_keys.append(ApiVersion(api_key, min_version, max_version))
        (throttle_time_ms,) = _i(buf, pos); pos += 4
        if pos != end: raise left_over(end - pos)
        return ApiVersionsResponse(error_code, api_keys, throttle_time_ms, [], -1, [], False)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ApiVersionsResponse:
    """Versions 3 to 4."""
    end = len(buf)
    try:
        error_code, n = _hB(buf, pos); pos += 3
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 7 <= end - pos: raise bad_length("api_keys", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        api_keys: list[ApiVersion] = []
        for _ in range(n):
            api_key, min_version, max_version, n = _hhhB(buf, pos); pos += 7
            if n: pos, room = skip_tags(buf, pos, n, room)
            api_keys.append(ApiVersion(api_key, min_version, max_version))
        (throttle_time_ms,) = _i(buf, pos); pos += 4
        supported_features: list[SupportedFeatureKey] = []
        finalized_features_epoch: int = -1
        finalized_features: list[FinalizedFeatureKey] = []
        zk_migration_ready: bool = False
        n = buf[pos]; pos += 1
        if n:
            tag = -1
            if n > 127: n, pos = long_length(buf, pos, n)
            if (room := room - n) < 0: raise too_many()
            for _ in range(n):
                tag, size, pos = tag_head(buf, pos, tag)
                stop = pos + size
                if tag == 0:
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 6 <= end - pos: raise bad_length("supported_features", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    supported_features_2: list[SupportedFeatureKey] = []
                    for _ in range(n):
                        n = buf[pos]; pos += 1
                        if n > 127: n, pos = long_string(buf, pos, n)
                        n -= 1
                        if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                        name = buf[pos : pos + n].tobytes().decode(); pos += n
                        min_version_2, max_version_2, n = _hhB(buf, pos); pos += 5
                        if n: pos, room = skip_tags(buf, pos, n, room)
                        supported_features_2.append(SupportedFeatureKey(name, min_version_2, max_version_2))
                    supported_features = supported_features_2
                elif tag == 1:
                    (finalized_features_epoch_2,) = _q(buf, pos); pos += 8
                    finalized_features_epoch = finalized_features_epoch_2
                elif tag == 2:
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 6 <= end - pos: raise bad_length("finalized_features", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    finalized_features_2: list[FinalizedFeatureKey] = []
                    for _ in range(n):
                        n = buf[pos]; pos += 1
                        if n > 127: n, pos = long_string(buf, pos, n)
                        n -= 1
                        if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                        name_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                        max_version_level, min_version_level, n = _hhB(buf, pos); pos += 5
                        if n: pos, room = skip_tags(buf, pos, n, room)
                        finalized_features_2.append(FinalizedFeatureKey(name_2, max_version_level, min_version_level))
                    finalized_features = finalized_features_2
                elif tag == 3:
                    (zk_migration_ready_2,) = _o(buf, pos); pos += 1
                    zk_migration_ready = zk_migration_ready_2
                else: pos = stop
                if pos != stop: raise bad_tag(tag, size)
        if pos != end: raise left_over(end - pos)
        return ApiVersionsResponse(error_code, api_keys, throttle_time_ms, supported_features, finalized_features_epoch, finalized_features, zk_migration_ready)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ApiVersionsResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_3,
}
