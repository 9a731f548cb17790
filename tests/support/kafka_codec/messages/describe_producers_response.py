"""Made by `make generate` from Apache Kafka's DescribeProducersResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_producers_response import DescribeProducersResponse, PartitionResponse, ProducerState, TopicResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_iB = struct.Struct(">iB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_qiiqiqB = struct.Struct(">qiiqiqB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeProducersResponse:
    """Version 0."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[TopicResponse] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 9 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[PartitionResponse] = []
            for _ in range(n):
                partition_index, error_code, n = _ihB(buf, pos); pos += 7
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: error_message = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                    error_message = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 37 <= end - pos: raise bad_length("active_producers", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                active_producers: list[ProducerState] = []
                for _ in range(n):
                    producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset, n = _qiiqiqB(buf, pos); pos += 37
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    active_producers.append(ProducerState(producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(PartitionResponse(partition_index, error_code, error_message, active_producers))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(TopicResponse(name, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeProducersResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeProducersResponse]] = {
    0: decode_0,
}
