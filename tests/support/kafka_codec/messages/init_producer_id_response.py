"""Made by `make generate` from Apache Kafka's InitProducerIdResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.init_producer_id_response import InitProducerIdResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, left_over, skip_tags

_ihqh = struct.Struct(">ihqh").unpack_from
_ihqhB = struct.Struct(">ihqhB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> InitProducerIdResponse:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, producer_id, producer_epoch = _ihqh(buf, pos); pos += 16
        if pos != end: raise left_over(end - pos)
        return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> InitProducerIdResponse:
    """Versions 2 to 5."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, producer_id, producer_epoch, n = _ihqhB(buf, pos); pos += 17
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[InitProducerIdResponse]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
    3: decode_2,
    4: decode_2,
    5: decode_2,
}
