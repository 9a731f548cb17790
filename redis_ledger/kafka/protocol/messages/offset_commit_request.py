"""Made by `make generate` from Apache Kafka's OffsetCommitRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_iqh = struct.Struct(">iqh").unpack_from
_iqiB = struct.Struct(">iqiB").unpack_from
_iqih = struct.Struct(">iqih").unpack_from
_qi = struct.Struct(">qi").unpack_from
_uB = struct.Struct(">16sB").unpack_from


class OffsetCommitRequestPartition(Struct, gc=False):
    """Each partition to commit offsets for."""

    partition_index: int = 0  # The partition index.
    committed_offset: int = 0  # The message offset to be committed.
    committed_leader_epoch: int = -1  # The leader epoch of this partition.
    committed_metadata: str | None = ""  # Any associated metadata the client wants to keep.


class OffsetCommitRequestTopic(Struct, gc=False):
    """The topics to commit offsets for."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The topic ID.
    partitions: list[OffsetCommitRequestPartition] = []  # Each partition to commit offsets for.


class OffsetCommitRequest(Struct, gc=False):
    group_id: str = ""  # The unique group identifier.
    generation_id_or_member_epoch: int = -1  # The generation of the group if using the classic group protocol or the member epoch if using the consumer protocol.
    member_id: str = ""  # The member ID assigned by the group coordinator.
    group_instance_id: str | None = None  # The unique identifier of the consumer instance provided by end user.
    retention_time_ms: int = -1  # The time period in ms to retain the offset.
    topics: list[OffsetCommitRequestTopic] = []  # The topics to commit offsets for.


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetCommitRequest:
    """Versions 2 to 4."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id_or_member_epoch, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        retention_time_ms, n = _qi(buf, pos); pos += 12
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 14 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetCommitRequestPartition] = []
            for _ in range(n):
                partition_index, committed_offset, n = _iqh(buf, pos); pos += 14
                if n == -1: committed_metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("committed_metadata", n, end - pos)
                    committed_metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                partitions.append(OffsetCommitRequestPartition(partition_index, committed_offset, -1, committed_metadata))
            topics.append(OffsetCommitRequestTopic(name, NO_UUID, partitions))
        return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, retention_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetCommitRequest:
    """Version 5."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id_or_member_epoch, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 14 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetCommitRequestPartition] = []
            for _ in range(n):
                partition_index, committed_offset, n = _iqh(buf, pos); pos += 14
                if n == -1: committed_metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("committed_metadata", n, end - pos)
                    committed_metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                partitions.append(OffsetCommitRequestPartition(partition_index, committed_offset, -1, committed_metadata))
            topics.append(OffsetCommitRequestTopic(name, NO_UUID, partitions))
        return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, -1, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetCommitRequest:
    """Version 6."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id_or_member_epoch, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetCommitRequestPartition] = []
            for _ in range(n):
                partition_index, committed_offset, committed_leader_epoch, n = _iqih(buf, pos); pos += 18
                if n == -1: committed_metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("committed_metadata", n, end - pos)
                    committed_metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                partitions.append(OffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
            topics.append(OffsetCommitRequestTopic(name, NO_UUID, partitions))
        return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, -1, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_7(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetCommitRequest:
    """Version 7."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id_or_member_epoch, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if n == -1: group_instance_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
            group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetCommitRequestPartition] = []
            for _ in range(n):
                partition_index, committed_offset, committed_leader_epoch, n = _iqih(buf, pos); pos += 18
                if n == -1: committed_metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("committed_metadata", n, end - pos)
                    committed_metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                partitions.append(OffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
            topics.append(OffsetCommitRequestTopic(name, NO_UUID, partitions))
        return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_8(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetCommitRequest:
    """Versions 8 to 9."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id_or_member_epoch, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: group_instance_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
            group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetCommitRequestPartition] = []
            for _ in range(n):
                partition_index, committed_offset, committed_leader_epoch, n = _iqiB(buf, pos); pos += 17
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: committed_metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("committed_metadata", n, end - pos)
                    committed_metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(OffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(OffsetCommitRequestTopic(name, NO_UUID, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_10(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetCommitRequest:
    """Version 10."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        generation_id_or_member_epoch, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("member_id", n, end - pos)
        member_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: group_instance_id = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("group_instance_id", n, end - pos)
            group_instance_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetCommitRequestPartition] = []
            for _ in range(n):
                partition_index, committed_offset, committed_leader_epoch, n = _iqiB(buf, pos); pos += 17
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: committed_metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("committed_metadata", n, end - pos)
                    committed_metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(OffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(OffsetCommitRequestTopic("", topic_id, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[OffsetCommitRequest]] = {
    2: decode_2,
    3: decode_2,
    4: decode_2,
    5: decode_5,
    6: decode_6,
    7: decode_7,
    8: decode_8,
    9: decode_8,
    10: decode_10,
}
