"""Made by `make generate` from Apache Kafka's AlterUserScramCredentialsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


class AlterUserScramCredentialsResult(Struct, gc=False):
    """The results for deletions and alterations, one per affected user."""

    user: str = ""  # The user name.
    error_code: int = 0  # The error code.
    error_message: str | None = ""  # The error message, if any.


class AlterUserScramCredentialsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    results: list[AlterUserScramCredentialsResult] = []  # The results for deletions and alterations, one per affected user.


def encode_0(message: AlterUserScramCredentialsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_i(message.throttle_time_ms)
    results = message.results
    n = len(results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results:
        user = one.user
        data = user.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[AlterUserScramCredentialsResponse]] = {
    0: encode_0,
}
