"""Made by `make generate` from Apache Kafka's FetchRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, bad_tag, fixed_array, long_length, long_string, skip_tags, tag_head, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iiibiiB = struct.Struct(">iiibiiB").unpack_from
_iiiibi = struct.Struct(">iiiibi").unpack_from
_iiiibiiB = struct.Struct(">iiiibiiB").unpack_from
_iiiibiii = struct.Struct(">iiiibiii").unpack_from
_iiqiqi = struct.Struct(">iiqiqi").unpack_from
_iiqiqiB = struct.Struct(">iiqiqiB").unpack_from
_iiqqi = struct.Struct(">iiqqi").unpack_from
_iqB = struct.Struct(">iqB").unpack_from
_iqi = struct.Struct(">iqi").unpack_from
_iqqi = struct.Struct(">iqqi").unpack_from
_u = struct.Struct(">16s").unpack_from
_uB = struct.Struct(">16sB").unpack_from


class ReplicaState(Struct, gc=False):
    """The state of the replica in the follower."""

    replica_id: int = -1  # The replica ID of the follower, or -1 if this request is from a consumer.
    replica_epoch: int = -1  # The epoch of this follower, or -1 if not available.


class FetchPartition(Struct, gc=False):
    """The partitions to fetch."""

    partition: int = 0  # The partition index.
    current_leader_epoch: int = -1  # The current leader epoch of the partition.
    fetch_offset: int = 0  # The message offset.
    last_fetched_epoch: int = -1  # The epoch of the last fetched record or -1 if there is none.
    log_start_offset: int = -1  # The earliest available offset of the follower replica. The field is only used when the request is sent by the follower.
    partition_max_bytes: int = 0  # The maximum bytes to fetch from this partition. See KIP-74 for cases where this limit may not be honored.
    replica_directory_id: bytes = NO_UUID  # The directory id of the follower fetching.


class FetchTopic(Struct, gc=False):
    """The topics to fetch."""

    topic: str = ""  # The name of the topic to fetch.
    topic_id: bytes = NO_UUID  # The unique topic ID.
    partitions: list[FetchPartition] = []  # The partitions to fetch.


class ForgottenTopic(Struct, gc=False):
    """In an incremental fetch request, the partitions to remove."""

    topic: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The unique topic ID.
    partitions: list[int] = []  # The partitions indexes to forget.


class FetchRequest(Struct, gc=False):
    cluster_id: str | None = None  # The clusterId if known. This is used to validate metadata fetches prior to broker registration.
    replica_id: int = -1  # The broker ID of the follower, of -1 if this request is from a consumer.
    replica_state: ReplicaState | None = None  # The state of the replica in the follower.
    max_wait_ms: int = 0  # The maximum time in milliseconds to wait for the response.
    min_bytes: int = 0  # The minimum bytes to accumulate in the response.
    max_bytes: int = 2147483647  # The maximum bytes to fetch. See KIP-74 for cases where this limit may not be honored.
    isolation_level: int = 0  # This setting controls the visibility of transactional records. Using READ_UNCOMMITTED (isolation_level = 0) makes all records visible. With READ_COMMITTED (isolation_level = 1), non-transactional and COMMITTED transactional records are visible. To be more concrete, READ_COMMITTED returns all data from offsets smaller than the current LSO (last stable offset), and enables the inclusion of the list of aborted transactions in the result, which allows consumers to discard ABORTED transactional records.
    session_id: int = 0  # The fetch session ID.
    session_epoch: int = -1  # The fetch session epoch, which is used for ordering requests in a session.
    topics: list[FetchTopic] = []  # The topics to fetch.
    forgotten_topics_data: list[ForgottenTopic] = []  # In an incremental fetch request, the partitions to remove.
    rack_id: str = ""  # Rack ID of the consumer making this request.


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchRequest:
    """Version 4."""
    end = len(buf)
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, n = _iiiibi(buf, pos); pos += 21
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[FetchTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 16 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[FetchPartition] = []
            for _ in range(n):
                partition, fetch_offset, partition_max_bytes = _iqi(buf, pos); pos += 16
                partitions.append(FetchPartition(partition, -1, fetch_offset, -1, -1, partition_max_bytes, NO_UUID))
            topics.append(FetchTopic(topic, NO_UUID, partitions))
        return FetchRequest(None, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics, [], "")
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchRequest:
    """Versions 5 to 6."""
    end = len(buf)
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, n = _iiiibi(buf, pos); pos += 21
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[FetchTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 24 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[FetchPartition] = []
            for _ in range(n):
                partition, fetch_offset, log_start_offset, partition_max_bytes = _iqqi(buf, pos); pos += 24
                partitions.append(FetchPartition(partition, -1, fetch_offset, -1, log_start_offset, partition_max_bytes, NO_UUID))
            topics.append(FetchTopic(topic, NO_UUID, partitions))
        return FetchRequest(None, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics, [], "")
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_7(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchRequest:
    """Versions 7 to 8."""
    end = len(buf)
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _iiiibiii(buf, pos); pos += 29
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[FetchTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 24 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[FetchPartition] = []
            for _ in range(n):
                partition, fetch_offset, log_start_offset, partition_max_bytes = _iqqi(buf, pos); pos += 24
                partitions.append(FetchPartition(partition, -1, fetch_offset, -1, log_start_offset, partition_max_bytes, NO_UUID))
            topics.append(FetchTopic(topic, NO_UUID, partitions))
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("forgotten_topics_data", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions_2: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            forgotten_topics_data.append(ForgottenTopic(topic_2, NO_UUID, partitions_2))
        return FetchRequest(None, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, "")
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_9(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchRequest:
    """Versions 9 to 10."""
    end = len(buf)
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _iiiibiii(buf, pos); pos += 29
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[FetchTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 28 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[FetchPartition] = []
            for _ in range(n):
                partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes = _iiqqi(buf, pos); pos += 28
                partitions.append(FetchPartition(partition, current_leader_epoch, fetch_offset, -1, log_start_offset, partition_max_bytes, NO_UUID))
            topics.append(FetchTopic(topic, NO_UUID, partitions))
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("forgotten_topics_data", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions_2: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            forgotten_topics_data.append(ForgottenTopic(topic_2, NO_UUID, partitions_2))
        return FetchRequest(None, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, "")
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_11(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchRequest:
    """Version 11."""
    end = len(buf)
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _iiiibiii(buf, pos); pos += 29
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[FetchTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 28 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[FetchPartition] = []
            for _ in range(n):
                partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes = _iiqqi(buf, pos); pos += 28
                partitions.append(FetchPartition(partition, current_leader_epoch, fetch_offset, -1, log_start_offset, partition_max_bytes, NO_UUID))
            topics.append(FetchTopic(topic, NO_UUID, partitions))
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 6 <= end - pos: raise bad_length("forgotten_topics_data", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions_2: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            forgotten_topics_data.append(ForgottenTopic(topic_2, NO_UUID, partitions_2))
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("rack_id", n, end - pos)
        rack_id = buf[pos : pos + n].tobytes().decode(); pos += n
        return FetchRequest(None, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_12(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchRequest:
    """Version 12."""
    end = len(buf)
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _iiiibiiB(buf, pos); pos += 26
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[FetchTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 33 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[FetchPartition] = []
            for _ in range(n):
                partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, n = _iiqiqiB(buf, pos); pos += 33
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, NO_UUID))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(FetchTopic(topic, NO_UUID, partitions))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("forgotten_topics_data", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic_2 = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions_2: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            forgotten_topics_data.append(ForgottenTopic(topic_2, NO_UUID, partitions_2))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("rack_id", n, end - pos)
        rack_id = buf[pos : pos + n].tobytes().decode(); pos += n
        cluster_id: str | None = None
        n = buf[pos]; pos += 1
        if n:
            tag = -1
            if n > 127: n, pos = long_length(buf, pos, n)
            if (room := room - n) < 0: raise too_many()
            for _ in range(n):
                tag, size, pos = tag_head(buf, pos, tag)
                stop = pos + size
                if tag == 0:
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: cluster_id_2 = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
                        cluster_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    cluster_id = cluster_id_2
                else: pos = stop
                if pos != stop: raise bad_tag(tag, size)
        return FetchRequest(cluster_id, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_13(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchRequest:
    """Versions 13 to 14."""
    end = len(buf)
    try:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _iiiibiiB(buf, pos); pos += 26
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[FetchTopic] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 33 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[FetchPartition] = []
            for _ in range(n):
                partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, n = _iiqiqiB(buf, pos); pos += 33
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, NO_UUID))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(FetchTopic("", topic_id, partitions))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("forgotten_topics_data", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(n):
            topic_id_2, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions_2: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            forgotten_topics_data.append(ForgottenTopic("", topic_id_2, partitions_2))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("rack_id", n, end - pos)
        rack_id = buf[pos : pos + n].tobytes().decode(); pos += n
        cluster_id: str | None = None
        n = buf[pos]; pos += 1
        if n:
            tag = -1
            if n > 127: n, pos = long_length(buf, pos, n)
            if (room := room - n) < 0: raise too_many()
            for _ in range(n):
                tag, size, pos = tag_head(buf, pos, tag)
                stop = pos + size
                if tag == 0:
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: cluster_id_2 = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
                        cluster_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    cluster_id = cluster_id_2
                else: pos = stop
                if pos != stop: raise bad_tag(tag, size)
        return FetchRequest(cluster_id, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_15(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchRequest:
    """Versions 15 to 16."""
    end = len(buf)
    try:
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _iiibiiB(buf, pos); pos += 22
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[FetchTopic] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 33 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[FetchPartition] = []
            for _ in range(n):
                partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, n = _iiqiqiB(buf, pos); pos += 33
                if n: pos, room = skip_tags(buf, pos, n, room)
                partitions.append(FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, NO_UUID))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(FetchTopic("", topic_id, partitions))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("forgotten_topics_data", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(n):
            topic_id_2, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions_2: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            forgotten_topics_data.append(ForgottenTopic("", topic_id_2, partitions_2))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("rack_id", n, end - pos)
        rack_id = buf[pos : pos + n].tobytes().decode(); pos += n
        cluster_id: str | None = None
        replica_state: ReplicaState | None = None
        n = buf[pos]; pos += 1
        if n:
            tag = -1
            if n > 127: n, pos = long_length(buf, pos, n)
            if (room := room - n) < 0: raise too_many()
            for _ in range(n):
                tag, size, pos = tag_head(buf, pos, tag)
                stop = pos + size
                if tag == 0:
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: cluster_id_2 = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
                        cluster_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    cluster_id = cluster_id_2
                elif tag == 1:
                    replica_id, replica_epoch, n = _iqB(buf, pos); pos += 13
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    replica_state = ReplicaState(replica_id, replica_epoch)
                else: pos = stop
                if pos != stop: raise bad_tag(tag, size)
        return FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_17(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchRequest:
    """Version 17."""
    end = len(buf)
    try:
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _iiibiiB(buf, pos); pos += 22
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[FetchTopic] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 33 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[FetchPartition] = []
            for _ in range(n):
                partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes = _iiqiqi(buf, pos); pos += 32
                replica_directory_id: bytes = NO_UUID
                n = buf[pos]; pos += 1
                if n:
                    tag = -1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    if (room := room - n) < 0: raise too_many()
                    for _ in range(n):
                        tag, size, pos = tag_head(buf, pos, tag)
                        stop = pos + size
                        if tag == 0:
                            (replica_directory_id_2,) = _u(buf, pos); pos += 16
                            replica_directory_id = replica_directory_id_2
                        else: pos = stop
                        if pos != stop: raise bad_tag(tag, size)
                partitions.append(FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, replica_directory_id))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(FetchTopic("", topic_id, partitions))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("forgotten_topics_data", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        forgotten_topics_data: list[ForgottenTopic] = []
        for _ in range(n):
            topic_id_2, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions_2: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            forgotten_topics_data.append(ForgottenTopic("", topic_id_2, partitions_2))
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("rack_id", n, end - pos)
        rack_id = buf[pos : pos + n].tobytes().decode(); pos += n
        cluster_id: str | None = None
        replica_state: ReplicaState | None = None
        n = buf[pos]; pos += 1
        if n:
            tag_2 = -1
            if n > 127: n, pos = long_length(buf, pos, n)
            if (room := room - n) < 0: raise too_many()
            for _ in range(n):
                tag_2, size_2, pos = tag_head(buf, pos, tag_2)
                stop_2 = pos + size_2
                if tag_2 == 0:
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: cluster_id_2 = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
                        cluster_id_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    cluster_id = cluster_id_2
                elif tag_2 == 1:
                    replica_id, replica_epoch, n = _iqB(buf, pos); pos += 13
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    replica_state = ReplicaState(replica_id, replica_epoch)
                else: pos = stop_2
                if pos != stop_2: raise bad_tag(tag_2, size_2)
        return FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[FetchRequest]] = {
    4: decode_4,
    5: decode_5,
    6: decode_5,
    7: decode_7,
    8: decode_7,
    9: decode_9,
    10: decode_9,
    11: decode_11,
    12: decode_12,
    13: decode_13,
    14: decode_13,
    15: decode_15,
    16: decode_15,
    17: decode_17,
}
