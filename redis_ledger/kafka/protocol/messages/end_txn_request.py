"""Made by `make generate` from Apache Kafka's EndTxnRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_string, skip_tags

_h = struct.Struct(">h").unpack_from
_qho = struct.Struct(">qh?").unpack_from
_qhoB = struct.Struct(">qh?B").unpack_from


class EndTxnRequest(Struct, gc=False):
    transactional_id: str = ""  # The ID of the transaction to end.
    producer_id: int = 0  # The producer ID.
    producer_epoch: int = 0  # The current epoch associated with the producer.
    committed: bool = False  # True if the transaction was committed, false if it was aborted.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> EndTxnRequest:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
        transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        producer_id, producer_epoch, committed = _qho(buf, pos); pos += 11
        return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> EndTxnRequest:
    """Versions 3 to 5."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
        transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        producer_id, producer_epoch, committed, n = _qhoB(buf, pos); pos += 12
        if n: pos, room = skip_tags(buf, pos, n, room)
        return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[EndTxnRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_3,
    5: decode_3,
}
