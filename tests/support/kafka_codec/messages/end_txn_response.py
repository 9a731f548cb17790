"""Made by `make generate` from Apache Kafka's EndTxnResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.end_txn_response import EndTxnResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, left_over, skip_tags

_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihqhB = struct.Struct(">ihqhB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> EndTxnResponse:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        throttle_time_ms, error_code = _ih(buf, pos); pos += 6
        if pos != end: raise left_over(end - pos)
        return EndTxnResponse(throttle_time_ms, error_code, -1, -1)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> EndTxnResponse:
    """Versions 3 to 4."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return EndTxnResponse(throttle_time_ms, error_code, -1, -1)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> EndTxnResponse:
    """Version 5."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, producer_id, producer_epoch, n = _ihqhB(buf, pos); pos += 17
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return EndTxnResponse(throttle_time_ms, error_code, producer_id, producer_epoch)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[EndTxnResponse]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_3,
    5: decode_5,
}
