"""Made by `make generate` from Apache Kafka's OffsetForLeaderEpochRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_iii = struct.Struct(">iii").unpack_from
_iiiB = struct.Struct(">iiiB").unpack_from


class OffsetForLeaderPartition(Struct, gc=False):
    """Each partition to get offsets for."""

    partition: int = 0  # The partition index.
    current_leader_epoch: int = -1  # An epoch used to fence consumers/replicas with old metadata. If the epoch provided by the client is larger than the current epoch known to the broker, then the UNKNOWN_LEADER_EPOCH error code will be returned. If the provided epoch is smaller, then the FENCED_LEADER_EPOCH error code will be returned.
    leader_epoch: int = 0  # The epoch to look up an offset for.


class OffsetForLeaderTopic(Struct, gc=False):
    """Each topic to get offsets for."""

    topic: str = ""  # The topic name.
    partitions: list[OffsetForLeaderPartition] = []  # Each partition to get offsets for.


class OffsetForLeaderEpochRequest(Struct, gc=False):
    replica_id: int = -2  # The broker ID of the follower, of -1 if this request is from a consumer.
    topics: list[OffsetForLeaderTopic] = []  # Each topic to get offsets for.


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetForLeaderEpochRequest:
    """Version 2."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetForLeaderTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 12 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetForLeaderPartition] = []
            for _ in range(n):
                partition, current_leader_epoch, leader_epoch = _iii(buf, pos); pos += 12
                partitions.append(OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch))
            topics.append(OffsetForLeaderTopic(topic, partitions))
        return OffsetForLeaderEpochRequest(-2, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetForLeaderEpochRequest:
    """Version 3."""
    end = len(buf)
    try:
        replica_id, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetForLeaderTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 12 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetForLeaderPartition] = []
            for _ in range(n):
                partition, current_leader_epoch, leader_epoch = _iii(buf, pos); pos += 12
                partitions.append(OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch))
            topics.append(OffsetForLeaderTopic(topic, partitions))
        return OffsetForLeaderEpochRequest(replica_id, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetForLeaderEpochRequest:
    """Version 4."""
    end = len(buf)
    try:
        replica_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetForLeaderTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 13 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetForLeaderPartition] = []
            for _ in range(n):
                partition, current_leader_epoch, leader_epoch, n = _iiiB(buf, pos); pos += 13
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(OffsetForLeaderTopic(topic, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return OffsetForLeaderEpochRequest(replica_id, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[OffsetForLeaderEpochRequest]] = {
    2: decode_2,
    3: decode_3,
    4: decode_4,
}
