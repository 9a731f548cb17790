"""Made by `make generate` from Apache Kafka's WriteTxnMarkersRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, long_length, long_string, skip_tags, too_many

_iB = struct.Struct(">iB").unpack_from
_ibB = struct.Struct(">ibB").unpack_from
_qhoB = struct.Struct(">qh?B").unpack_from


class WritableTxnMarkerTopic(Struct, gc=False):
    """Each topic that we want to write transaction marker(s) for."""

    name: str = ""  # The topic name.
    partition_indexes: list[int] = []  # The indexes of the partitions to write transaction markers for.


class WritableTxnMarker(Struct, gc=False):
    """The transaction markers to be written."""

    producer_id: int = 0  # The current producer ID.
    producer_epoch: int = 0  # The current epoch associated with the producer ID.
    transaction_result: bool = False  # The result of the transaction to write to the partitions (false = ABORT, true = COMMIT).
    topics: list[WritableTxnMarkerTopic] = []  # Each topic that we want to write transaction marker(s) for.
    coordinator_epoch: int = 0  # Epoch associated with the transaction state partition hosted by this transaction coordinator.
    transaction_version: int = 0  # Transaction version of the marker. Ex: 0/1 = legacy (TV0/TV1), 2 = TV2 etc.


class WriteTxnMarkersRequest(Struct, gc=False):
    markers: list[WritableTxnMarker] = []  # The transaction markers to be written.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> WriteTxnMarkersRequest:
    """Version 1."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 17 <= end - pos: raise bad_length("markers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        markers: list[WritableTxnMarker] = []
        for _ in range(n):
            producer_id, producer_epoch, transaction_result, n = _qhoB(buf, pos); pos += 12
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[WritableTxnMarkerTopic] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("partition_indexes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partition_indexes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(WritableTxnMarkerTopic(name, partition_indexes))
            coordinator_epoch, n = _iB(buf, pos); pos += 5
            if n: pos, room = skip_tags(buf, pos, n, room)
            markers.append(WritableTxnMarker(producer_id, producer_epoch, transaction_result, topics, coordinator_epoch, 0))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return WriteTxnMarkersRequest(markers)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> WriteTxnMarkersRequest:
    """Version 2."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("markers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        markers: list[WritableTxnMarker] = []
        for _ in range(n):
            producer_id, producer_epoch, transaction_result, n = _qhoB(buf, pos); pos += 12
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[WritableTxnMarkerTopic] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("partition_indexes", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partition_indexes: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(WritableTxnMarkerTopic(name, partition_indexes))
            coordinator_epoch, transaction_version, n = _ibB(buf, pos); pos += 6
            if n: pos, room = skip_tags(buf, pos, n, room)
            markers.append(WritableTxnMarker(producer_id, producer_epoch, transaction_result, topics, coordinator_epoch, transaction_version))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return WriteTxnMarkersRequest(markers)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[WriteTxnMarkersRequest]] = {
    1: decode_1,
    2: decode_2,
}
