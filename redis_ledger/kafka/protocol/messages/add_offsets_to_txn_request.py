"""Made by `make generate` from Apache Kafka's AddOffsetsToTxnRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_string, skip_tags

_h = struct.Struct(">h").unpack_from
_qhB = struct.Struct(">qhB").unpack_from
_qhh = struct.Struct(">qhh").unpack_from


class AddOffsetsToTxnRequest(Struct, gc=False):
    transactional_id: str = ""  # The transactional id corresponding to the transaction.
    producer_id: int = 0  # Current producer id in use by the transactional id.
    producer_epoch: int = 0  # Current epoch associated with the producer id.
    group_id: str = ""  # The unique group identifier.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AddOffsetsToTxnRequest:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
        transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        producer_id, producer_epoch, n = _qhh(buf, pos); pos += 12
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AddOffsetsToTxnRequest:
    """Versions 3 to 4."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
        transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        producer_id, producer_epoch, n = _qhB(buf, pos); pos += 11
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[AddOffsetsToTxnRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_3,
}
