"""Made by `make wire` from Apache Kafka's DescribeUserScramCredentialsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, long_length, long_string, skip_tags, too_many, uvarint



class UserName(Struct, gc=False):
    """The users to describe, or null/empty to describe all users."""

    name: str = ""  # The user name.


class DescribeUserScramCredentialsRequest(Struct, gc=False):
    users: list[UserName] | None = []  # The users to describe, or null/empty to describe all users.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeUserScramCredentialsRequest:
    """Version 0."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        users: list[UserName] | None = None
        if n != -1:
            if not 0 <= n * 2 <= end - pos: raise bad_length("users", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            users = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                users.append(UserName(name))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeUserScramCredentialsRequest(users)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_0(message: DescribeUserScramCredentialsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    users = message.users
    if users is None: out += b"\0"
    else:
        n = len(users) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one in users:
            name = one.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += b"\0"
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[DescribeUserScramCredentialsRequest]] = {
    0: decode_0,
}
ENCODERS: dict[int, Encoder[DescribeUserScramCredentialsRequest]] = {
    0: encode_0,
}
