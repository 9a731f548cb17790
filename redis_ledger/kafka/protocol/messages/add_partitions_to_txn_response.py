"""Made by `make wire` from Apache Kafka's AddPartitionsToTxnResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_ihx = struct.Struct(">ihx").pack


class AddPartitionsToTxnPartitionResult(Struct, gc=False):
    """The results for each partition."""

    partition_index: int = 0  # The partition indexes.
    partition_error_code: int = 0  # The response error code.


class AddPartitionsToTxnTopicResult(Struct, gc=False):
    """The results for each topic."""

    name: str = ""  # The topic name.
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []  # The results for each partition.


class AddPartitionsToTxnResult(Struct, gc=False):
    """Results categorized by transactional ID."""

    transactional_id: str = ""  # The transactional id corresponding to the transaction.
    topic_results: list[AddPartitionsToTxnTopicResult] = []  # The results for each topic.


class AddPartitionsToTxnResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # Duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The response top level error code.
    results_by_transaction: list[AddPartitionsToTxnResult] = []  # Results categorized by transactional ID.
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []  # The results for each topic.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AddPartitionsToTxnResponse:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("results_by_topic_v3_and_below", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 6 <= end - pos: raise bad_length("results_by_partition", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
            for _ in range(n):
                partition_index, partition_error_code = _ih(buf, pos); pos += 6
                results_by_partition.append(AddPartitionsToTxnPartitionResult(partition_index, partition_error_code))
            results_by_topic_v3_and_below.append(AddPartitionsToTxnTopicResult(name, results_by_partition))
        if pos != end: raise left_over(end - pos)
        return AddPartitionsToTxnResponse(throttle_time_ms, 0, [], results_by_topic_v3_and_below)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AddPartitionsToTxnResponse:
    """Version 3."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("results_by_topic_v3_and_below", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 7 <= end - pos: raise bad_length("results_by_partition", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
            for _ in range(n):
                partition_index, partition_error_code, n = _ihB(buf, pos); pos += 7
                if n: pos, room = skip_tags(buf, pos, n, room)
                results_by_partition.append(AddPartitionsToTxnPartitionResult(partition_index, partition_error_code))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            results_by_topic_v3_and_below.append(AddPartitionsToTxnTopicResult(name, results_by_partition))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return AddPartitionsToTxnResponse(throttle_time_ms, 0, [], results_by_topic_v3_and_below)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AddPartitionsToTxnResponse:
    """Versions 4 to 5."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("results_by_transaction", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results_by_transaction: list[AddPartitionsToTxnResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
            transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topic_results", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topic_results: list[AddPartitionsToTxnTopicResult] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 7 <= end - pos: raise bad_length("results_by_partition", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
                for _ in range(n):
                    partition_index, partition_error_code, n = _ihB(buf, pos); pos += 7
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    results_by_partition.append(AddPartitionsToTxnPartitionResult(partition_index, partition_error_code))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topic_results.append(AddPartitionsToTxnTopicResult(name, results_by_partition))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            results_by_transaction.append(AddPartitionsToTxnResult(transactional_id, topic_results))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return AddPartitionsToTxnResponse(throttle_time_ms, error_code, results_by_transaction, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_0(message: AddPartitionsToTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    out += _p_i(message.throttle_time_ms)
    results_by_topic_v3_and_below = message.results_by_topic_v3_and_below
    out += _p_i(len(results_by_topic_v3_and_below))
    for one in results_by_topic_v3_and_below:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        results_by_partition = one.results_by_partition
        out += _p_i(len(results_by_partition))
        for one_2 in results_by_partition:
            out += _p_ih(one_2.partition_index, one_2.partition_error_code)
    return out


def encode_3(message: AddPartitionsToTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_i(message.throttle_time_ms)
    results_by_topic_v3_and_below = message.results_by_topic_v3_and_below
    n = len(results_by_topic_v3_and_below) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results_by_topic_v3_and_below:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        results_by_partition = one.results_by_partition
        n = len(results_by_partition) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in results_by_partition:
            out += _p_ihx(one_2.partition_index, one_2.partition_error_code)
        out += b"\0"
    out += b"\0"
    return out


def encode_4(message: AddPartitionsToTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 5."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    results_by_transaction = message.results_by_transaction
    n = len(results_by_transaction) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results_by_transaction:
        transactional_id = one.transactional_id
        data = transactional_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topic_results = one.topic_results
        n = len(topic_results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topic_results:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            results_by_partition = one_2.results_by_partition
            n = len(results_by_partition) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in results_by_partition:
                out += _p_ihx(one_3.partition_index, one_3.partition_error_code)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[AddPartitionsToTxnResponse]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_4,
    5: decode_4,
}
ENCODERS: dict[int, Encoder[AddPartitionsToTxnResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_4,
    5: encode_4,
}
