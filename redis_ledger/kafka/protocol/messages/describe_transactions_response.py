"""Made by `make wire` from Apache Kafka's DescribeTransactionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, fixed_array, left_over, long_length, long_string, pack_array, skip_tags, too_many, uvarint

_hB = struct.Struct(">hB").unpack_from
_iB = struct.Struct(">iB").unpack_from
_iqqhB = struct.Struct(">iqqhB").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_iqqh = struct.Struct(">iqqh").pack


class TopicData(Struct, gc=False):
    """The set of partitions included in the current transaction (if active). When a transaction is preparing to commit or abort, this will include only partitions which do not have markers."""

    topic: str = ""  # The topic name.
    partitions: list[int] = []  # The partition ids included in the current transaction.


class TransactionState(Struct, gc=False):
    """The current state of the transaction."""

    error_code: int = 0  # The error code.
    transactional_id: str = ""  # The transactional id.
    transaction_state: str = ""  # The current transaction state of the producer.
    transaction_timeout_ms: int = 0  # The timeout in milliseconds for the transaction.
    transaction_start_time_ms: int = 0  # The start time of the transaction in milliseconds.
    producer_id: int = 0  # The current producer id associated with the transaction.
    producer_epoch: int = 0  # The current epoch associated with the producer id.
    topics: list[TopicData] = []  # The set of partitions included in the current transaction (if active). When a transaction is preparing to commit or abort, this will include only partitions which do not have markers.


class DescribeTransactionsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    transaction_states: list[TransactionState] = []  # The current state of the transaction.


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


def encode_0(message: DescribeTransactionsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_i(message.throttle_time_ms)
    transaction_states = message.transaction_states
    n = len(transaction_states) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in transaction_states:
        out += _p_h(one.error_code)
        transactional_id = one.transactional_id
        data = transactional_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        transaction_state = one.transaction_state
        data = transaction_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_iqqh(one.transaction_timeout_ms, one.transaction_start_time_ms, one.producer_id, one.producer_epoch)
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            topic = one_2.topic
            data = topic.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            out += pack_array("i", partitions)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[DescribeTransactionsResponse]] = {
    0: decode_0,
}
ENCODERS: dict[int, Encoder[DescribeTransactionsResponse]] = {
    0: encode_0,
}
