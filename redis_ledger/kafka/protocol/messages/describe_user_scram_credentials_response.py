"""Made by `make generate` from Apache Kafka's DescribeUserScramCredentialsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_bix = struct.Struct(">bix").pack
_p_h = struct.Struct(">h").pack
_p_ih = struct.Struct(">ih").pack


class CredentialInfo(Struct, gc=False):
    """The mechanism and related information associated with the user's SCRAM credentials."""

    mechanism: int = 0  # The SCRAM mechanism.
    iterations: int = 0  # The number of iterations used in the SCRAM credential.


class DescribeUserScramCredentialsResult(Struct, gc=False):
    """The results for descriptions, one per user."""

    user: str = ""  # The user name.
    error_code: int = 0  # The user-level error code.
    error_message: str | None = ""  # The user-level error message, if any.
    credential_infos: list[CredentialInfo] = []  # The mechanism and related information associated with the user's SCRAM credentials.


class DescribeUserScramCredentialsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The message-level error code, 0 except for user authorization or infrastructure issues.
    error_message: str | None = ""  # The message-level error message, if any.
    results: list[DescribeUserScramCredentialsResult] = []  # The results for descriptions, one per user.


def encode_0(message: DescribeUserScramCredentialsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\0"
    else:
        data = error_message.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    results = message.results
    n = len(results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results:
        user = one.user
        data = user.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_h(one.error_code)
        error_message_2 = one.error_message
        if error_message_2 is None: out += b"\0"
        else:
            data = error_message_2.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        credential_infos = one.credential_infos
        n = len(credential_infos) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in credential_infos:
            out += _p_bix(one_2.mechanism, one_2.iterations)
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeUserScramCredentialsResponse]] = {
    0: encode_0,
}
