"""Made by `make generate` from Apache Kafka's WriteTxnMarkersResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.write_txn_markers_response import WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult, WriteTxnMarkersResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_ihB = struct.Struct(">ihB").unpack_from
_qB = struct.Struct(">qB").unpack_from


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


DECODERS: dict[int, Decoder[WriteTxnMarkersResponse]] = {
    1: decode_1,
    2: decode_1,
}
