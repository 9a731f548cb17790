"""Made by `make generate` from Apache Kafka's AddPartitionsToTxnResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResponse, AddPartitionsToTxnResult, AddPartitionsToTxnTopicResult
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ii = struct.Struct(">ii").unpack_from


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


DECODERS: dict[int, Decoder[AddPartitionsToTxnResponse]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_4,
    5: decode_4,
}
