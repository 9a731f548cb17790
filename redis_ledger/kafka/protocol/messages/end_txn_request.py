"""Made by `make wire` from Apache Kafka's EndTxnRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, long_string, skip_tags, uvarint

_h = struct.Struct(">h").unpack_from
_p_h = struct.Struct(">h").pack
_p_qho = struct.Struct(">qh?").pack
_p_qhox = struct.Struct(">qh?x").pack
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


def encode_0(message: EndTxnRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    transactional_id = message.transactional_id
    data = transactional_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_qho(message.producer_id, message.producer_epoch, message.committed)
    return out


def encode_3(message: EndTxnRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 5."""
    transactional_id = message.transactional_id
    data = transactional_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_qhox(message.producer_id, message.producer_epoch, message.committed)
    return out


DECODERS: dict[int, Decoder[EndTxnRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_3,
    5: decode_3,
}
ENCODERS: dict[int, Encoder[EndTxnRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_3,
    5: encode_3,
}
