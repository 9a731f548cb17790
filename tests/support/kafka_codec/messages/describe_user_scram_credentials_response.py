"""Made by `make generate` from Apache Kafka's DescribeUserScramCredentialsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_user_scram_credentials_response import CredentialInfo, DescribeUserScramCredentialsResponse, DescribeUserScramCredentialsResult
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_biB = struct.Struct(">biB").unpack_from
_hB = struct.Struct(">hB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from


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


DECODERS: dict[int, Decoder[DescribeUserScramCredentialsResponse]] = {
    0: decode_0,
}
