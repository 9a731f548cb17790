"""Made by `make wire` from Apache Kafka's OffsetFetchResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_iqh = struct.Struct(">iqh").unpack_from
_iqiB = struct.Struct(">iqiB").unpack_from
_iqih = struct.Struct(">iqih").unpack_from
_p_h = struct.Struct(">h").pack
_p_hx = struct.Struct(">hx").pack
_p_i = struct.Struct(">i").pack
_p_iq = struct.Struct(">iq").pack
_p_iqi = struct.Struct(">iqi").pack
_p_u = struct.Struct(">16s").pack
_uB = struct.Struct(">16sB").unpack_from


class OffsetFetchResponsePartition(Struct, gc=False):
    """The responses per partition."""

    partition_index: int = 0  # The partition index.
    committed_offset: int = 0  # The committed message offset.
    committed_leader_epoch: int = -1  # The leader epoch.
    metadata: str | None = ""  # The partition metadata.
    error_code: int = 0  # The error code, or 0 if there was no error.


class OffsetFetchResponseTopic(Struct, gc=False):
    """The responses per topic."""

    name: str = ""  # The topic name.
    partitions: list[OffsetFetchResponsePartition] = []  # The responses per partition.


class OffsetFetchResponsePartitions(Struct, gc=False):
    """The responses per partition."""

    partition_index: int = 0  # The partition index.
    committed_offset: int = 0  # The committed message offset.
    committed_leader_epoch: int = -1  # The leader epoch.
    metadata: str | None = ""  # The partition metadata.
    error_code: int = 0  # The partition-level error code, or 0 if there was no error.


class OffsetFetchResponseTopics(Struct, gc=False):
    """The responses per topic."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The topic ID.
    partitions: list[OffsetFetchResponsePartitions] = []  # The responses per partition.


class OffsetFetchResponseGroup(Struct, gc=False):
    """The responses per group id."""

    group_id: str = ""  # The group ID.
    topics: list[OffsetFetchResponseTopics] = []  # The responses per topic.
    error_code: int = 0  # The group-level error code, or 0 if there was no error.


class OffsetFetchResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[OffsetFetchResponseTopic] = []  # The responses per topic.
    error_code: int = 0  # The top-level error code, or 0 if there was no error.
    groups: list[OffsetFetchResponseGroup] = []  # The responses per group id.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchResponse:
    """Version 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetFetchResponseTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 16 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetFetchResponsePartition] = []
            for _ in range(n):
                partition_index, committed_offset, n = _iqh(buf, pos); pos += 14
                if n == -1: metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
                    metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                (error_code,) = _h(buf, pos); pos += 2
                partitions.append(OffsetFetchResponsePartition(partition_index, committed_offset, -1, metadata, error_code))
            topics.append(OffsetFetchResponseTopic(name, partitions))
        if pos != end: raise left_over(end - pos)
        return OffsetFetchResponse(0, topics, 0, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchResponse:
    """Version 2."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetFetchResponseTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 16 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetFetchResponsePartition] = []
            for _ in range(n):
                partition_index, committed_offset, n = _iqh(buf, pos); pos += 14
                if n == -1: metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
                    metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                (error_code,) = _h(buf, pos); pos += 2
                partitions.append(OffsetFetchResponsePartition(partition_index, committed_offset, -1, metadata, error_code))
            topics.append(OffsetFetchResponseTopic(name, partitions))
        (error_code_2,) = _h(buf, pos); pos += 2
        if pos != end: raise left_over(end - pos)
        return OffsetFetchResponse(0, topics, error_code_2, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchResponse:
    """Versions 3 to 4."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetFetchResponseTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 16 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetFetchResponsePartition] = []
            for _ in range(n):
                partition_index, committed_offset, n = _iqh(buf, pos); pos += 14
                if n == -1: metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
                    metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                (error_code,) = _h(buf, pos); pos += 2
                partitions.append(OffsetFetchResponsePartition(partition_index, committed_offset, -1, metadata, error_code))
            topics.append(OffsetFetchResponseTopic(name, partitions))
        (error_code_2,) = _h(buf, pos); pos += 2
        if pos != end: raise left_over(end - pos)
        return OffsetFetchResponse(throttle_time_ms, topics, error_code_2, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchResponse:
    """Version 5."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetFetchResponseTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 20 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetFetchResponsePartition] = []
            for _ in range(n):
                partition_index, committed_offset, committed_leader_epoch, n = _iqih(buf, pos); pos += 18
                if n == -1: metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
                    metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                (error_code,) = _h(buf, pos); pos += 2
                partitions.append(OffsetFetchResponsePartition(partition_index, committed_offset, committed_leader_epoch, metadata, error_code))
            topics.append(OffsetFetchResponseTopic(name, partitions))
        (error_code_2,) = _h(buf, pos); pos += 2
        if pos != end: raise left_over(end - pos)
        return OffsetFetchResponse(throttle_time_ms, topics, error_code_2, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchResponse:
    """Versions 6 to 7."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[OffsetFetchResponseTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 20 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[OffsetFetchResponsePartition] = []
            for _ in range(n):
                partition_index, committed_offset, committed_leader_epoch, n = _iqiB(buf, pos); pos += 17
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: metadata = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
                    metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                error_code, n = _hB(buf, pos); pos += 3
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(OffsetFetchResponsePartition(partition_index, committed_offset, committed_leader_epoch, metadata, error_code))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(OffsetFetchResponseTopic(name, partitions))
        error_code_2, n = _hB(buf, pos); pos += 3
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return OffsetFetchResponse(throttle_time_ms, topics, error_code_2, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_8(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchResponse:
    """Versions 8 to 9."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 5 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[OffsetFetchResponseGroup] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[OffsetFetchResponseTopics] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 20 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[OffsetFetchResponsePartitions] = []
                for _ in range(n):
                    partition_index, committed_offset, committed_leader_epoch, n = _iqiB(buf, pos); pos += 17
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: metadata = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
                        metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                    error_code, n = _hB(buf, pos); pos += 3
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    partitions.append(OffsetFetchResponsePartitions(partition_index, committed_offset, committed_leader_epoch, metadata, error_code))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(OffsetFetchResponseTopics(name, NO_UUID, partitions))
            error_code_2, n = _hB(buf, pos); pos += 3
            if n: pos, room = skip_tags(buf, pos, n, room)
            groups.append(OffsetFetchResponseGroup(group_id, topics, error_code_2))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return OffsetFetchResponse(throttle_time_ms, [], 0, groups)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_10(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> OffsetFetchResponse:
    """Version 10."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 5 <= end - pos: raise bad_length("groups", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        groups: list[OffsetFetchResponseGroup] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[OffsetFetchResponseTopics] = []
            for _ in range(n):
                topic_id, n = _uB(buf, pos); pos += 17
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 20 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[OffsetFetchResponsePartitions] = []
                for _ in range(n):
                    partition_index, committed_offset, committed_leader_epoch, n = _iqiB(buf, pos); pos += 17
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: metadata = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("metadata", n, end - pos)
                        metadata = buf[pos : pos + n].tobytes().decode(); pos += n
                    error_code, n = _hB(buf, pos); pos += 3
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    partitions.append(OffsetFetchResponsePartitions(partition_index, committed_offset, committed_leader_epoch, metadata, error_code))
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(OffsetFetchResponseTopics("", topic_id, partitions))
            error_code_2, n = _hB(buf, pos); pos += 3
            if n: pos, room = skip_tags(buf, pos, n, room)
            groups.append(OffsetFetchResponseGroup(group_id, topics, error_code_2))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return OffsetFetchResponse(throttle_time_ms, [], 0, groups)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_1(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iq(one_2.partition_index, one_2.committed_offset)
            metadata = one_2.metadata
            if metadata is None: out += b"\xff\xff"
            else:
                data = metadata.encode()
                out += _p_h(len(data))
                out += data
            out += _p_h(one_2.error_code)
    return out


def encode_2(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iq(one_2.partition_index, one_2.committed_offset)
            metadata = one_2.metadata
            if metadata is None: out += b"\xff\xff"
            else:
                data = metadata.encode()
                out += _p_h(len(data))
                out += data
            out += _p_h(one_2.error_code)
    out += _p_h(message.error_code)
    return out


def encode_3(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iq(one_2.partition_index, one_2.committed_offset)
            metadata = one_2.metadata
            if metadata is None: out += b"\xff\xff"
            else:
                data = metadata.encode()
                out += _p_h(len(data))
                out += data
            out += _p_h(one_2.error_code)
    out += _p_h(message.error_code)
    return out


def encode_5(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_iqi(one_2.partition_index, one_2.committed_offset, one_2.committed_leader_epoch)
            metadata = one_2.metadata
            if metadata is None: out += b"\xff\xff"
            else:
                data = metadata.encode()
                out += _p_h(len(data))
                out += data
            out += _p_h(one_2.error_code)
    out += _p_h(message.error_code)
    return out


def encode_6(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 6 to 7."""
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
            out += _p_iqi(one_2.partition_index, one_2.committed_offset, one_2.committed_leader_epoch)
            metadata = one_2.metadata
            if metadata is None: out += b"\0"
            else:
                data = metadata.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += _p_hx(one_2.error_code)
        out += b"\0"
    out += _p_hx(message.error_code)
    return out


def encode_8(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 8 to 9."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            name = one_2.name
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in partitions:
                out += _p_iqi(one_3.partition_index, one_3.committed_offset, one_3.committed_leader_epoch)
                metadata = one_3.metadata
                if metadata is None: out += b"\0"
                else:
                    data = metadata.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += _p_hx(one_3.error_code)
            out += b"\0"
        out += _p_hx(one.error_code)
    out += b"\0"
    return out


def encode_10(message: OffsetFetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 10."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        topics = one.topics
        n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in topics:
            out += _p_u(one_2.topic_id)
            partitions = one_2.partitions
            n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in partitions:
                out += _p_iqi(one_3.partition_index, one_3.committed_offset, one_3.committed_leader_epoch)
                metadata = one_3.metadata
                if metadata is None: out += b"\0"
                else:
                    data = metadata.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += _p_hx(one_3.error_code)
            out += b"\0"
        out += _p_hx(one.error_code)
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[OffsetFetchResponse]] = {
    1: decode_1,
    2: decode_2,
    3: decode_3,
    4: decode_3,
    5: decode_5,
    6: decode_6,
    7: decode_6,
    8: decode_8,
    9: decode_8,
    10: decode_10,
}
ENCODERS: dict[int, Encoder[OffsetFetchResponse]] = {
    1: encode_1,
    2: encode_2,
    3: encode_3,
    4: encode_3,
    5: encode_5,
    6: encode_6,
    7: encode_6,
    8: encode_8,
    9: encode_8,
    10: encode_10,
}
