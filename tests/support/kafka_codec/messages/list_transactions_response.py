"""Made by `make generate` from Apache Kafka's ListTransactionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.list_transactions_response import ListTransactionsResponse, TransactionState
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_ihB = struct.Struct(">ihB").unpack_from
_qB = struct.Struct(">qB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListTransactionsResponse:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("unknown_state_filters", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        unknown_state_filters: list[str] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("unknown_state_filters", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            unknown_state_filters.append(one)
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 11 <= end - pos: raise bad_length("transaction_states", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        transaction_states: list[TransactionState] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
            transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
            producer_id, n = _qB(buf, pos); pos += 9
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("transaction_state", n, end - pos)
            transaction_state = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            transaction_states.append(TransactionState(transactional_id, producer_id, transaction_state))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return ListTransactionsResponse(throttle_time_ms, error_code, unknown_state_filters, transaction_states)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ListTransactionsResponse]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
}
