"""Made by `make generate` from Apache Kafka's TxnOffsetCommitRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iqh = struct.Struct(">iqh").unpack_from
_iqiB = struct.Struct(">iqiB").unpack_from
_iqih = struct.Struct(">iqih").unpack_from
_qhi = struct.Struct(">qhi").unpack_from
_qhiB = struct.Struct(">qhiB").unpack_from
_uB = struct.Struct(">16sB").unpack_from


class TxnOffsetCommitRequestPartition(Struct, gc=False):
    """The partitions inside the topic that we want to commit offsets for."""

    partition_index: int = 0  # The index of the partition within the topic.
    committed_offset: int = 0  # The message offset to be committed.
    committed_leader_epoch: int = -1  # The leader epoch of the last consumed record.
    committed_metadata: str | None = ""  # Any associated metadata the client wants to keep.


class TxnOffsetCommitRequestTopic(Struct, gc=False):
    """Each topic that we want to commit offsets for."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The topic ID.
    partitions: list[TxnOffsetCommitRequestPartition] = []  # The partitions inside the topic that we want to commit offsets for.


class TxnOffsetCommitRequest(Struct, gc=False):
    transactional_id: str = ""  # The ID of the transaction.
    group_id: str = ""  # The ID of the group.
    producer_id: int = 0  # The current producer ID in use by the transactional ID.
    producer_epoch: int = 0  # The current epoch associated with the producer ID.
    generation_id_or_member_epoch: int = -1  # The generation of the group if using the classic group protocol or the member epoch if using the consumer protocol.
    member_id: str = ""  # The member ID assigned by the group coordinator.
    group_instance_id: str | None = None  # The unique identifier of the consumer instance provided by end user.
    topics: list[TxnOffsetCommitRequestTopic] = []  # Each topic that we want to commit offsets for.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> TxnOffsetCommitRequest:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
        transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        producer_id, producer_epoch, n = _qhi(buf, pos); pos += 14
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 14 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[TxnOffsetCommitRequestPartition] = []
            for _ in range(n):
                partition_index, committed_offset, n = _iqh(buf, pos); pos += 14
                if n == -1: committed_metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("committed_metadata", n, end - pos)
                    committed_metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                partitions.append(TxnOffsetCommitRequestPartition(partition_index, committed_offset, -1, committed_metadata))
            topics.append(TxnOffsetCommitRequestTopic(name, NO_UUID, partitions))
        return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> TxnOffsetCommitRequest:
    """Version 2."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
        transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        producer_id, producer_epoch, n = _qhi(buf, pos); pos += 14
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[TxnOffsetCommitRequestPartition] = []
            for _ in range(n):
                partition_index, committed_offset, committed_leader_epoch, n = _iqih(buf, pos); pos += 18
                if n == -1: committed_metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("committed_metadata", n, end - pos)
                    committed_metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                partitions.append(TxnOffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
            topics.append(TxnOffsetCommitRequestTopic(name, NO_UUID, partitions))
        return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> TxnOffsetCommitRequest:
    """Versions 3 to 5."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
        transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        producer_id, producer_epoch, generation_id_or_member_epoch, n = _qhiB(buf, pos); pos += 15
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
        topics: list[TxnOffsetCommitRequestTopic] = []
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
            partitions: list[TxnOffsetCommitRequestPartition] = []
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
                partitions.append(TxnOffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(TxnOffsetCommitRequestTopic(name, NO_UUID, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, generation_id_or_member_epoch, member_id, group_instance_id, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> TxnOffsetCommitRequest:
    """Version 6."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
        transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
        group_id = buf[pos : pos + n].tobytes().decode(); pos += n
        producer_id, producer_epoch, generation_id_or_member_epoch, n = _qhiB(buf, pos); pos += 15
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
        topics: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 18 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[TxnOffsetCommitRequestPartition] = []
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
                partitions.append(TxnOffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(TxnOffsetCommitRequestTopic("", topic_id, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, generation_id_or_member_epoch, member_id, group_instance_id, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[TxnOffsetCommitRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
    3: decode_3,
    4: decode_3,
    5: decode_3,
    6: decode_6,
}
