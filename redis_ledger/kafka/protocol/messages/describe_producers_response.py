"""Made by `make wire` from Apache Kafka's DescribeProducersResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_iB = struct.Struct(">iB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_qiiqiqx = struct.Struct(">qiiqiqx").pack
_qiiqiqB = struct.Struct(">qiiqiqB").unpack_from


class ProducerState(Struct, gc=False):
    """The active producers for the partition."""

    producer_id: int = 0  # The producer id.
    producer_epoch: int = 0  # The producer epoch.
    last_sequence: int = -1  # The last sequence number sent by the producer.
    last_timestamp: int = -1  # The last timestamp sent by the producer.
    coordinator_epoch: int = 0  # The current epoch of the producer group.
    current_txn_start_offset: int = -1  # The current transaction start offset of the producer.


class PartitionResponse(Struct, gc=False):
    """Each partition in the response."""

    partition_index: int = 0  # The partition index.
    error_code: int = 0  # The partition error code, or 0 if there was no error.
    error_message: str | None = None  # The partition error message, which may be null if no additional details are available.
    active_producers: list[ProducerState] = []  # The active producers for the partition.


class TopicResponse(Struct, gc=False):
    """Each topic in the response."""

    name: str = ""  # The topic name.
    partitions: list[PartitionResponse] = []  # Each partition in the response.


class DescribeProducersResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[TopicResponse] = []  # Each topic in the response.


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


def encode_0(message: DescribeProducersResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_ih(one_2.partition_index, one_2.error_code)
            error_message = one_2.error_message
            if error_message is None: out += b"\0"
            else:
                data = error_message.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            active_producers = one_2.active_producers
            n = len(active_producers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in active_producers:
                out += _p_qiiqiqx(one_3.producer_id, one_3.producer_epoch, one_3.last_sequence, one_3.last_timestamp, one_3.coordinator_epoch, one_3.current_txn_start_offset)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[DescribeProducersResponse]] = {
    0: decode_0,
}
ENCODERS: dict[int, Encoder[DescribeProducersResponse]] = {
    0: encode_0,
}
