"""Made by `make generate` from Apache Kafka's ListOffsetsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ibB = struct.Struct(">ibB").unpack_from
_ibi = struct.Struct(">ibi").unpack_from
_ii = struct.Struct(">ii").unpack_from
_iiq = struct.Struct(">iiq").unpack_from
_iiqB = struct.Struct(">iiqB").unpack_from
_iq = struct.Struct(">iq").unpack_from


class ListOffsetsPartition(Struct, gc=False):
    """Each partition in the request."""

    partition_index: int = 0  # The partition index.
    current_leader_epoch: int = -1  # The current leader epoch.
    timestamp: int = 0  # The current timestamp.


class ListOffsetsTopic(Struct, gc=False):
    """Each topic in the request."""

    name: str = ""  # The topic name.
    partitions: list[ListOffsetsPartition] = []  # Each partition in the request.


class ListOffsetsRequest(Struct, gc=False):
    replica_id: int = 0  # The broker ID of the requester, or -1 if this request is being made by a normal consumer.
    isolation_level: int = 0  # This setting controls the visibility of transactional records. Using READ_UNCOMMITTED (isolation_level = 0) makes all records visible. With READ_COMMITTED (isolation_level = 1), non-transactional and COMMITTED transactional records are visible. To be more concrete, READ_COMMITTED returns all data from offsets smaller than the current LSO (last stable offset), and enables the inclusion of the list of aborted transactions in the result, which allows consumers to discard ABORTED transactional records.
    topics: list[ListOffsetsTopic] = []  # Each topic in the request.
    timeout_ms: int = 0  # The timeout to await a response in milliseconds for requests that require reading from remote storage for topics enabled with tiered storage.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListOffsetsRequest:
    """Version 1."""
    end = len(buf)
    try:
        replica_id, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[ListOffsetsTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 12 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[ListOffsetsPartition] = []
            for _ in range(n):
                partition_index, timestamp = _iq(buf, pos); pos += 12
                partitions.append(ListOffsetsPartition(partition_index, -1, timestamp))
            topics.append(ListOffsetsTopic(name, partitions))
        return ListOffsetsRequest(replica_id, 0, topics, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListOffsetsRequest:
    """Versions 2 to 3."""
    end = len(buf)
    try:
        replica_id, isolation_level, n = _ibi(buf, pos); pos += 9
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[ListOffsetsTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 12 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[ListOffsetsPartition] = []
            for _ in range(n):
                partition_index, timestamp = _iq(buf, pos); pos += 12
                partitions.append(ListOffsetsPartition(partition_index, -1, timestamp))
            topics.append(ListOffsetsTopic(name, partitions))
        return ListOffsetsRequest(replica_id, isolation_level, topics, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListOffsetsRequest:
    """Versions 4 to 5."""
    end = len(buf)
    try:
        replica_id, isolation_level, n = _ibi(buf, pos); pos += 9
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[ListOffsetsTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 16 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[ListOffsetsPartition] = []
            for _ in range(n):
                partition_index, current_leader_epoch, timestamp = _iiq(buf, pos); pos += 16
                partitions.append(ListOffsetsPartition(partition_index, current_leader_epoch, timestamp))
            topics.append(ListOffsetsTopic(name, partitions))
        return ListOffsetsRequest(replica_id, isolation_level, topics, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListOffsetsRequest:
    """Versions 6 to 9."""
    end = len(buf)
    try:
        replica_id, isolation_level, n = _ibB(buf, pos); pos += 6
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[ListOffsetsTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 17 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[ListOffsetsPartition] = []
            for _ in range(n):
                partition_index, current_leader_epoch, timestamp, n = _iiqB(buf, pos); pos += 17
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(ListOffsetsPartition(partition_index, current_leader_epoch, timestamp))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(ListOffsetsTopic(name, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ListOffsetsRequest(replica_id, isolation_level, topics, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_10(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ListOffsetsRequest:
    """Version 10."""
    end = len(buf)
    try:
        replica_id, isolation_level, n = _ibB(buf, pos); pos += 6
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[ListOffsetsTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 17 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[ListOffsetsPartition] = []
            for _ in range(n):
                partition_index, current_leader_epoch, timestamp, n = _iiqB(buf, pos); pos += 17
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(ListOffsetsPartition(partition_index, current_leader_epoch, timestamp))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(ListOffsetsTopic(name, partitions))
        timeout_ms, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ListOffsetsRequest(replica_id, isolation_level, topics, timeout_ms)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ListOffsetsRequest]] = {
    1: decode_1,
    2: decode_2,
    3: decode_2,
    4: decode_4,
    5: decode_4,
    6: decode_6,
    7: decode_6,
    8: decode_6,
    9: decode_6,
    10: decode_10,
}
