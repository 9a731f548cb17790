"""Made by `make generate` from Apache Kafka's DescribeTransactionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many



class DescribeTransactionsRequest(Struct, gc=False):
    transactional_ids: list[str] = []  # Array of transactionalIds to include in describe results. If empty, then no results will be returned.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeTransactionsRequest:
    """Version 0."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("transactional_ids", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        transactional_ids: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("transactional_ids", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            transactional_ids.append(one)
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return DescribeTransactionsRequest(transactional_ids)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeTransactionsRequest]] = {
    0: decode_0,
}
