"""Made by `make generate` from Apache Kafka's ApiVersionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_hhh = struct.Struct(">hhh").pack
_p_hhhx = struct.Struct(">hhhx").pack
_p_hhx = struct.Struct(">hhx").pack
_p_i = struct.Struct(">i").pack
_p_o = struct.Struct(">?").pack
_p_q = struct.Struct(">q").pack


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


ENCODERS: dict[int, Encoder[ApiVersionsResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_3,
}
