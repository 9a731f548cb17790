"""Made by `make generate` from Apache Kafka's OffsetFetchResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.offset_fetch_response import OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_iqh = struct.Struct(">iqh").unpack_from
_iqiB = struct.Struct(">iqiB").unpack_from
_iqih = struct.Struct(">iqih").unpack_from
_uB = struct.Struct(">16sB").unpack_from


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
