"""Made by `make wire` from Apache Kafka's ApiVersionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, bad_tag, left_over, long_length, long_string, skip_tags, tag_head, too_many, uvarint

_hB = struct.Struct(">hB").unpack_from
_hhB = struct.Struct(">hhB").unpack_from
_hhh = struct.Struct(">hhh").unpack_from
_hhhB = struct.Struct(">hhhB").unpack_from
_hi = struct.Struct(">hi").unpack_from
_i = struct.Struct(">i").unpack_from
_o = struct.Struct(">?").unpack_from
_p_h = struct.Struct(">h").pack
_p_hhh = struct.Struct(">hhh").pack
_p_hhhx = struct.Struct(">hhhx").pack
_p_hhx = struct.Struct(">hhx").pack
_p_i = struct.Struct(">i").pack
_p_o = struct.Struct(">?").pack
_p_q = struct.Struct(">q").pack
_q = struct.Struct(">q").unpack_from


class ApiVersion(Struct, gc=False):
    """The APIs supported by the broker."""

    api_key: int = 0  # The API index.
    min_version: int = 0  # The minimum supported version, inclusive.
    max_version: int = 0  # The maximum supported version, inclusive.


class SupportedFeatureKey(Struct, gc=False):
    """Features supported by the broker. Note: in v0-v3, features with MinSupportedVersion = 0 are omitted."""

    name: str = ""  # The name of the feature.
    min_version: int = 0  # The minimum supported version for the feature.
    max_version: int = 0  # The maximum supported version for the feature.


class FinalizedFeatureKey(Struct, gc=False):
    """List of cluster-wide finalized features. The information is valid only if FinalizedFeaturesEpoch >= 0."""

    name: str = ""  # The name of the feature.
    max_version_level: int = 0  # The cluster-wide finalized max version level for the feature.
    min_version_level: int = 0  # The cluster-wide finalized min version level for the feature.


class ApiVersionsResponse(Struct, gc=False):
    error_code: int = 0  # The top-level error code.
    api_keys: list[ApiVersion] = []  # The APIs supported by the broker.
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    supported_features: list[SupportedFeatureKey] = []  # Features supported by the broker. Note: in v0-v3, features with MinSupportedVersion = 0 are omitted.
    finalized_features_epoch: int = -1  # The monotonically increasing epoch for the finalized features information. Valid values are >= 0. A value of -1 is special and represents unknown epoch.
    finalized_features: list[FinalizedFeatureKey] = []  # List of cluster-wide finalized features. The information is valid only if FinalizedFeaturesEpoch >= 0.
    zk_migration_ready: bool = False  # Set by a KRaft controller if the required configurations for ZK migration are present.


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


def encode_0(message: ApiVersionsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_h(message.error_code)
    api_keys = message.api_keys
    out += _p_i(len(api_keys))
    for one in api_keys:
        out += _p_hhh(one.api_key, one.min_version, one.max_version)
    return out


def encode_1(message: ApiVersionsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    out += _p_h(message.error_code)
    api_keys = message.api_keys
    out += _p_i(len(api_keys))
    for one in api_keys:
        out += _p_hhh(one.api_key, one.min_version, one.max_version)
    out += _p_i(message.throttle_time_ms)
    return out


def encode_3(message: ApiVersionsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
    out += _p_h(message.error_code)
    api_keys = message.api_keys
    n = len(api_keys) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in api_keys:
        out += _p_hhhx(one.api_key, one.min_version, one.max_version)
    out += _p_i(message.throttle_time_ms)
    if message.supported_features or message.finalized_features_epoch != -1 or message.finalized_features or message.zk_migration_ready:
        tagged = bytearray(); count = 0
        if message.supported_features:
            part = bytearray()
            supported_features = message.supported_features
            n = len(supported_features) + 1; part += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in supported_features:
                name = one_2.name
                data = name.encode()
                n = len(data) + 1; part += ONE_BYTE[n] if n < 128 else uvarint(n); part += data
                part += _p_hhx(one_2.min_version, one_2.max_version)
            tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
        if message.finalized_features_epoch != -1:
            part_2 = bytearray()
            part_2 += _p_q(message.finalized_features_epoch)
            tagged += uvarint(1) + uvarint(len(part_2)) + part_2; count += 1
        if message.finalized_features:
            part_3 = bytearray()
            finalized_features = message.finalized_features
            n = len(finalized_features) + 1; part_3 += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in finalized_features:
                name_2 = one_3.name
                data = name_2.encode()
                n = len(data) + 1; part_3 += ONE_BYTE[n] if n < 128 else uvarint(n); part_3 += data
                part_3 += _p_hhx(one_3.max_version_level, one_3.min_version_level)
            tagged += uvarint(2) + uvarint(len(part_3)) + part_3; count += 1
        if message.zk_migration_ready:
            part_4 = bytearray()
            part_4 += _p_o(message.zk_migration_ready)
            tagged += uvarint(3) + uvarint(len(part_4)) + part_4; count += 1
        out += uvarint(count) + tagged
    else:
        out += b"\0"
    return out


DECODERS: dict[int, Decoder[ApiVersionsResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_3,
}
ENCODERS: dict[int, Encoder[ApiVersionsResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_3,
}
