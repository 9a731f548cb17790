"""Made by `make wire` from Apache Kafka's WriteTxnMarkersResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_ihB = struct.Struct(">ihB").unpack_from
_p_ihx = struct.Struct(">ihx").pack
_p_q = struct.Struct(">q").pack
_qB = struct.Struct(">qB").unpack_from


class WritableTxnMarkerPartitionResult(Struct, gc=False):
    """The results by partition."""

    partition_index: int = 0  # The partition index.
    error_code: int = 0  # The error code, or 0 if there was no error.


class WritableTxnMarkerTopicResult(Struct, gc=False):
    """The results by topic."""

    name: str = ""  # The topic name.
    partitions: list[WritableTxnMarkerPartitionResult] = []  # The results by partition.


class WritableTxnMarkerResult(Struct, gc=False):
    """The results for writing makers."""

    producer_id: int = 0  # The current producer ID in use by the transactional ID.
    topics: list[WritableTxnMarkerTopicResult] = []  # The results by topic.


class WriteTxnMarkersResponse(Struct, gc=False):
    markers: list[WritableTxnMarkerResult] = []  # The results for writing makers.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> WriteTxnMarkersResponse:
    """Versions 1 to 2."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 10 <= end - pos: raise bad_length("markers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        markers: list[WritableTxnMarkerResult] = []
        for _ in range(n):
            producer_id, n = _qB(buf, pos); pos += 9
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[WritableTxnMarkerTopicResult] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 7 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[WritableTxnMarkerPartitionResult] = []
                for _ in range(n):
                    partition_index, error_code, n = _ihB(buf, pos); pos += 7
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    partitions.append(WritableTxnMarkerPartitionResult(partition_index, error_code))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(WritableTxnMarkerTopicResult(name, partitions))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            markers.append(WritableTxnMarkerResult(producer_id, topics))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return WriteTxnMarkersResponse(markers)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_1(message: WriteTxnMarkersResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    markers = message.markers
    n = len(markers) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in markers:
        out += _p_q(one.producer_id)
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in partitions:
                out += _p_ihx(one_3.partition_index, one_3.error_code)
            out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[WriteTxnMarkersResponse]] = {
    1: decode_1,
    2: decode_1,
}
ENCODERS: dict[int, Encoder[WriteTxnMarkersResponse]] = {
    1: encode_1,
    2: encode_1,
}
