"""Made by `make generate` from Apache Kafka's InitProducerIdRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_string, skip_tags

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_iqhB = struct.Struct(">iqhB").unpack_from


class InitProducerIdRequest(Struct, gc=False):
    transactional_id: str | None = ""  # The transactional id, or null if the producer is not transactional.
    transaction_timeout_ms: int = 0  # The time in ms to wait before aborting idle transactions sent by this producer. This is only relevant if a TransactionalId has been defined.
    producer_id: int = -1  # The producer id. This is used to disambiguate requests if a transactional id is reused following its expiration.
    producer_epoch: int = -1  # The producer's current epoch. This will be checked against the producer epoch on the broker, and the request will return an error if they do not match.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> InitProducerIdRequest:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if n == -1: transactional_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
            transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (transaction_timeout_ms,) = _i(buf, pos); pos += 4
        return InitProducerIdRequest(transactional_id, transaction_timeout_ms, -1, -1)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> InitProducerIdRequest:
    """Version 2."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: transactional_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
            transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        transaction_timeout_ms, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        return InitProducerIdRequest(transactional_id, transaction_timeout_ms, -1, -1)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> InitProducerIdRequest:
    """Versions 3 to 5."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: transactional_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
            transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        transaction_timeout_ms, producer_id, producer_epoch, n = _iqhB(buf, pos); pos += 15
        if n: pos, room = skip_tags(buf, pos, n, room)
        return InitProducerIdRequest(transactional_id, transaction_timeout_ms, producer_id, producer_epoch)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[InitProducerIdRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
    3: decode_3,
    4: decode_3,
    5: decode_3,
}
