"""Made by `make generate` from Apache Kafka's DescribeTransactionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_transactions_response import DescribeTransactionsResponse, TopicData, TransactionState
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, left_over, long_length, long_string, skip_tags, too_many

_hB = struct.Struct(">hB").unpack_from
_iB = struct.Struct(">iB").unpack_from
_iqqhB = struct.Struct(">iqqhB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeTransactionsResponse:
    """Version 0."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 28 <= end - pos: raise bad_length("transaction_states", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        transaction_states: list[TransactionState] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
            transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("transaction_state", n, end - pos)
            transaction_state = buf[pos : pos + n].tobytes().decode(); pos += n
            transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, n = _iqqhB(buf, pos); pos += 23
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[TopicData] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
                topic = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(TopicData(topic, partitions))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            transaction_states.append(TransactionState(error_code, transactional_id, transaction_state, transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, topics))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeTransactionsResponse(throttle_time_ms, transaction_states)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeTransactionsResponse]] = {
    0: decode_0,
}
