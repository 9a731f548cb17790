"""Made by `make generate` from Apache Kafka's DescribeUserScramCredentialsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many



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


DECODERS: dict[int, Decoder[DescribeUserScramCredentialsRequest]] = {
    0: decode_0,
}
