"""Made by `make generate` from Apache Kafka's ProduceRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Buffer, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_hiB = struct.Struct(">hiB").unpack_from
_hii = struct.Struct(">hii").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_uB = struct.Struct(">16sB").unpack_from


class PartitionProduceData(Struct, gc=False):
    """Each partition to produce to."""

    index: int = 0  # The partition index.
    records: Buffer | None = b""  # The record data to be produced.


class TopicProduceData(Struct, gc=False):
    """Each topic to produce to."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The unique topic ID
    partition_data: list[PartitionProduceData] = []  # Each partition to produce to.


class ProduceRequest(Struct, gc=False):
    transactional_id: str | None = None  # The transactional ID, or null if the producer is not transactional.
    acks: int = 0  # The number of acknowledgments the producer requires the leader to have received before considering a request complete. Allowed values: 0 for no acknowledgments, 1 for only the leader and -1 for the full ISR.
    timeout_ms: int = 0  # The timeout to await a response in milliseconds.
    topic_data: list[TopicProduceData] = []  # Each topic to produce to.


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ProduceRequest:
    """Versions 3 to 8."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if n == -1: transactional_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
            transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        acks, timeout_ms, n = _hii(buf, pos); pos += 10
        if not 0 <= n * 6 <= end - pos: raise bad_length("topic_data", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topic_data: list[TopicProduceData] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 8 <= end - pos: raise bad_length("partition_data", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partition_data: list[PartitionProduceData] = []
            for _ in range(n):
                index, n = _ii(buf, pos); pos += 8
                if n == -1: records = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("records", n, end - pos)
                    records = buf[pos : pos + n]; pos += n
                partition_data.append(PartitionProduceData(index, records))
            topic_data.append(TopicProduceData(name, NO_UUID, partition_data))
        return ProduceRequest(transactional_id, acks, timeout_ms, topic_data)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_9(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ProduceRequest:
    """Versions 9 to 12."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: transactional_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
            transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        acks, timeout_ms, n = _hiB(buf, pos); pos += 7
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topic_data", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topic_data: list[TopicProduceData] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 6 <= end - pos: raise bad_length("partition_data", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partition_data: list[PartitionProduceData] = []
            for _ in range(n):
                index, n = _iB(buf, pos); pos += 5
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if n == -1: records = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("records", n, end - pos)
                    records = buf[pos : pos + n]; pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partition_data.append(PartitionProduceData(index, records))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topic_data.append(TopicProduceData(name, NO_UUID, partition_data))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ProduceRequest(transactional_id, acks, timeout_ms, topic_data)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_13(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ProduceRequest:
    """Version 13."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: transactional_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
            transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        acks, timeout_ms, n = _hiB(buf, pos); pos += 7
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("topic_data", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topic_data: list[TopicProduceData] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 6 <= end - pos: raise bad_length("partition_data", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partition_data: list[PartitionProduceData] = []
            for _ in range(n):
                index, n = _iB(buf, pos); pos += 5
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if n == -1: records = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("records", n, end - pos)
                    records = buf[pos : pos + n]; pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partition_data.append(PartitionProduceData(index, records))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topic_data.append(TopicProduceData("", topic_id, partition_data))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ProduceRequest(transactional_id, acks, timeout_ms, topic_data)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ProduceRequest]] = {
    3: decode_3,
    4: decode_3,
    5: decode_3,
    6: decode_3,
    7: decode_3,
    8: decode_3,
    9: decode_9,
    10: decode_9,
    11: decode_9,
    12: decode_9,
    13: decode_13,
}
