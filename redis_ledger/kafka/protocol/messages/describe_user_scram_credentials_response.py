"""Made by `make wire` from Apache Kafka's DescribeUserScramCredentialsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_biB = struct.Struct(">biB").unpack_from
_hB = struct.Struct(">hB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
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


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeUserScramCredentialsResponse:
    """Version 0."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 6 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DescribeUserScramCredentialsResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("user", n, end - pos)
            user = buf[pos : pos + n].tobytes().decode(); pos += n
            error_code_2, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message_2 = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 6 <= end - pos: raise bad_length("credential_infos", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            credential_infos: list[CredentialInfo] = []
            for _ in range(n):
                mechanism, iterations, n = _biB(buf, pos); pos += 6
                if n: pos, room = skip_tags(buf, pos, n, room)
                credential_infos.append(CredentialInfo(mechanism, iterations))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            results.append(DescribeUserScramCredentialsResult(user, error_code_2, error_message_2, credential_infos))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeUserScramCredentialsResponse(throttle_time_ms, error_code, error_message, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[DescribeUserScramCredentialsResponse]] = {
    0: decode_0,
}
ENCODERS: dict[int, Encoder[DescribeUserScramCredentialsResponse]] = {
    0: encode_0,
}
