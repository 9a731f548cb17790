"""Made by `make generate` from Apache Kafka's FetchResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.fetch_response import AbortedTransaction, EpochEndOffset, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData, SnapshotId
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, bad_tag, left_over, long_length, long_string, skip_tags, tag_head, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ihiB = struct.Struct(">ihiB").unpack_from
_ihii = struct.Struct(">ihii").unpack_from
_ihqqi = struct.Struct(">ihqqi").unpack_from
_ihqqqB = struct.Struct(">ihqqqB").unpack_from
_ihqqqi = struct.Struct(">ihqqqi").unpack_from
_ii = struct.Struct(">ii").unpack_from
_iiB = struct.Struct(">iiB").unpack_from
_iqB = struct.Struct(">iqB").unpack_from
_qiB = struct.Struct(">qiB").unpack_from
_qq = struct.Struct(">qq").unpack_from
_qqB = struct.Struct(">qqB").unpack_from
_uB = struct.Struct(">16sB").unpack_from


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchResponse:
    """Version 4."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[FetchableTopicResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 30 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[PartitionData] = []
            for _ in range(n):
                partition_index, error_code, high_watermark, last_stable_offset, n = _ihqqi(buf, pos); pos += 26
                aborted_transactions: list[AbortedTransaction] | None = None
                if n != -1:
                    if not 0 <= n * 16 <= end - pos: raise bad_length("aborted_transactions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    aborted_transactions = []
                    for _ in range(n):
                        producer_id, first_offset = _qq(buf, pos); pos += 16
                        aborted_transactions.append(AbortedTransaction(producer_id, first_offset))
                (n,) = _i(buf, pos); pos += 4
                if n == -1: records = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("records", n, end - pos)
                    records = buf[pos : pos + n]; pos += n
                partitions.append(PartitionData(partition_index, error_code, high_watermark, last_stable_offset, -1, None, None, None, aborted_transactions, -1, records))
            responses.append(FetchableTopicResponse(topic, NO_UUID, partitions))
        if pos != end: raise left_over(end - pos)
        return FetchResponse(throttle_time_ms, 0, 0, responses, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchResponse:
    """Versions 5 to 6."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[FetchableTopicResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 38 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[PartitionData] = []
            for _ in range(n):
                partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, n = _ihqqqi(buf, pos); pos += 34
                aborted_transactions: list[AbortedTransaction] | None = None
                if n != -1:
                    if not 0 <= n * 16 <= end - pos: raise bad_length("aborted_transactions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    aborted_transactions = []
                    for _ in range(n):
                        producer_id, first_offset = _qq(buf, pos); pos += 16
                        aborted_transactions.append(AbortedTransaction(producer_id, first_offset))
                (n,) = _i(buf, pos); pos += 4
                if n == -1: records = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("records", n, end - pos)
                    records = buf[pos : pos + n]; pos += n
                partitions.append(PartitionData(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, None, None, None, aborted_transactions, -1, records))
            responses.append(FetchableTopicResponse(topic, NO_UUID, partitions))
        if pos != end: raise left_over(end - pos)
        return FetchResponse(throttle_time_ms, 0, 0, responses, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_7(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchResponse:
    """Versions 7 to 10."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, session_id, n = _ihii(buf, pos); pos += 14
        if not 0 <= n * 6 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[FetchableTopicResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 38 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[PartitionData] = []
            for _ in range(n):
                partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, n = _ihqqqi(buf, pos); pos += 34
                aborted_transactions: list[AbortedTransaction] | None = None
                if n != -1:
                    if not 0 <= n * 16 <= end - pos: raise bad_length("aborted_transactions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    aborted_transactions = []
                    for _ in range(n):
                        producer_id, first_offset = _qq(buf, pos); pos += 16
                        aborted_transactions.append(AbortedTransaction(producer_id, first_offset))
                (n,) = _i(buf, pos); pos += 4
                if n == -1: records = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("records", n, end - pos)
                    records = buf[pos : pos + n]; pos += n
                partitions.append(PartitionData(partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, None, None, None, aborted_transactions, -1, records))
            responses.append(FetchableTopicResponse(topic, NO_UUID, partitions))
        if pos != end: raise left_over(end - pos)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_11(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchResponse:
    """Version 11."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, session_id, n = _ihii(buf, pos); pos += 14
        if not 0 <= n * 6 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[FetchableTopicResponse] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 42 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[PartitionData] = []
            for _ in range(n):
                partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, n = _ihqqqi(buf, pos); pos += 34
                aborted_transactions: list[AbortedTransaction] | None = None
                if n != -1:
                    if not 0 <= n * 16 <= end - pos: raise bad_length("aborted_transactions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    aborted_transactions = []
                    for _ in range(n):
                        producer_id, first_offset = _qq(buf, pos); pos += 16
                        aborted_transactions.append(AbortedTransaction(producer_id, first_offset))
                preferred_read_replica, n = _ii(buf, pos); pos += 8
                if n == -1: records = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("records", n, end - pos)
                    records = buf[pos : pos + n]; pos += n
                partitions.append(PartitionData(partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, None, None, None, aborted_transactions, preferred_read_replica, records))
            responses.append(FetchableTopicResponse(topic, NO_UUID, partitions))
        if pos != end: raise left_over(end - pos)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_12(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchResponse:
    """Version 12."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, session_id, n = _ihiB(buf, pos); pos += 11
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[FetchableTopicResponse] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("topic", n, end - pos)
            topic = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 37 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[PartitionData] = []
            for _ in range(n):
                partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, n = _ihqqqB(buf, pos); pos += 31
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                aborted_transactions: list[AbortedTransaction] | None = None
                if n != -1:
                    if not 0 <= n * 17 <= end - pos: raise bad_length("aborted_transactions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    aborted_transactions = []
                    for _ in range(n):
                        producer_id, first_offset, n = _qqB(buf, pos); pos += 17
                        if n: pos, room = skip_tags(buf, pos, n, room)
                        aborted_transactions.append(AbortedTransaction(producer_id, first_offset))
                preferred_read_replica, n = _iB(buf, pos); pos += 5
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if n == -1: records = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("records", n, end - pos)
                    records = buf[pos : pos + n]; pos += n
                diverging_epoch: EpochEndOffset | None = None
                current_leader: LeaderIdAndEpoch | None = None
                snapshot_id: SnapshotId | None = None
                n = buf[pos]; pos += 1
                if n:
                    tag = -1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    if (room := room - n) < 0: raise too_many()
                    for _ in range(n):
                        tag, size, pos = tag_head(buf, pos, tag)
                        stop = pos + size
                        if tag == 0:
                            epoch, end_offset, n = _iqB(buf, pos); pos += 13
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            diverging_epoch = EpochEndOffset(epoch, end_offset)
                        elif tag == 1:
                            leader_id, leader_epoch, n = _iiB(buf, pos); pos += 9
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            current_leader = LeaderIdAndEpoch(leader_id, leader_epoch)
                        elif tag == 2:
                            end_offset_2, epoch_2, n = _qiB(buf, pos); pos += 13
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            snapshot_id = SnapshotId(end_offset_2, epoch_2)
                        else: pos = stop
                        if pos != stop: raise bad_tag(tag, size)
                partitions.append(PartitionData(partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, diverging_epoch, current_leader, snapshot_id, aborted_transactions, preferred_read_replica, records))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(FetchableTopicResponse(topic, NO_UUID, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_13(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchResponse:
    """Versions 13 to 15."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, session_id, n = _ihiB(buf, pos); pos += 11
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[FetchableTopicResponse] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 37 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[PartitionData] = []
            for _ in range(n):
                partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, n = _ihqqqB(buf, pos); pos += 31
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                aborted_transactions: list[AbortedTransaction] | None = None
                if n != -1:
                    if not 0 <= n * 17 <= end - pos: raise bad_length("aborted_transactions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    aborted_transactions = []
                    for _ in range(n):
                        producer_id, first_offset, n = _qqB(buf, pos); pos += 17
                        if n: pos, room = skip_tags(buf, pos, n, room)
                        aborted_transactions.append(AbortedTransaction(producer_id, first_offset))
                preferred_read_replica, n = _iB(buf, pos); pos += 5
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if n == -1: records = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("records", n, end - pos)
                    records = buf[pos : pos + n]; pos += n
                diverging_epoch: EpochEndOffset | None = None
                current_leader: LeaderIdAndEpoch | None = None
                snapshot_id: SnapshotId | None = None
                n = buf[pos]; pos += 1
                if n:
                    tag = -1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    if (room := room - n) < 0: raise too_many()
                    for _ in range(n):
                        tag, size, pos = tag_head(buf, pos, tag)
                        stop = pos + size
                        if tag == 0:
                            epoch, end_offset, n = _iqB(buf, pos); pos += 13
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            diverging_epoch = EpochEndOffset(epoch, end_offset)
                        elif tag == 1:
                            leader_id, leader_epoch, n = _iiB(buf, pos); pos += 9
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            current_leader = LeaderIdAndEpoch(leader_id, leader_epoch)
                        elif tag == 2:
                            end_offset_2, epoch_2, n = _qiB(buf, pos); pos += 13
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            snapshot_id = SnapshotId(end_offset_2, epoch_2)
                        else: pos = stop
                        if pos != stop: raise bad_tag(tag, size)
                partitions.append(PartitionData(partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, diverging_epoch, current_leader, snapshot_id, aborted_transactions, preferred_read_replica, records))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(FetchableTopicResponse("", topic_id, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_16(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FetchResponse:
    """Versions 16 to 17."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, session_id, n = _ihiB(buf, pos); pos += 11
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 18 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[FetchableTopicResponse] = []
        for _ in range(n):
            topic_id, n = _uB(buf, pos); pos += 17
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 37 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[PartitionData] = []
            for _ in range(n):
                partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, n = _ihqqqB(buf, pos); pos += 31
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                aborted_transactions: list[AbortedTransaction] | None = None
                if n != -1:
                    if not 0 <= n * 17 <= end - pos: raise bad_length("aborted_transactions", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    aborted_transactions = []
                    for _ in range(n):
                        producer_id, first_offset, n = _qqB(buf, pos); pos += 17
                        if n: pos, room = skip_tags(buf, pos, n, room)
                        aborted_transactions.append(AbortedTransaction(producer_id, first_offset))
                preferred_read_replica, n = _iB(buf, pos); pos += 5
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if n == -1: records = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("records", n, end - pos)
                    records = buf[pos : pos + n]; pos += n
                diverging_epoch: EpochEndOffset | None = None
                current_leader: LeaderIdAndEpoch | None = None
                snapshot_id: SnapshotId | None = None
                n = buf[pos]; pos += 1
                if n:
                    tag = -1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    if (room := room - n) < 0: raise too_many()
                    for _ in range(n):
                        tag, size, pos = tag_head(buf, pos, tag)
                        stop = pos + size
                        if tag == 0:
                            epoch, end_offset, n = _iqB(buf, pos); pos += 13
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            diverging_epoch = EpochEndOffset(epoch, end_offset)
                        elif tag == 1:
                            leader_id, leader_epoch, n = _iiB(buf, pos); pos += 9
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            current_leader = LeaderIdAndEpoch(leader_id, leader_epoch)
                        elif tag == 2:
                            end_offset_2, epoch_2, n = _qiB(buf, pos); pos += 13
                            if n: pos, room = skip_tags(buf, pos, n, room)
                            snapshot_id = SnapshotId(end_offset_2, epoch_2)
                        else: pos = stop
                        if pos != stop: raise bad_tag(tag, size)
                partitions.append(PartitionData(partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, diverging_epoch, current_leader, snapshot_id, aborted_transactions, preferred_read_replica, records))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(FetchableTopicResponse("", topic_id, partitions))
        node_endpoints: list[NodeEndpoint] = []
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
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 11 <= end - pos: raise bad_length("node_endpoints", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    node_endpoints_2: list[NodeEndpoint] = []
                    for _ in range(n):
                        node_id, n = _iB(buf, pos); pos += 5
                        if n > 127: n, pos = long_string(buf, pos, n)
                        n -= 1
                        if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
                        host = buf[pos : pos + n].tobytes().decode(); pos += n
                        port, n = _iB(buf, pos); pos += 5
                        if n > 127: n, pos = long_string(buf, pos, n)
                        n -= 1
                        if n == -1: rack = None
                        else:
                            if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                            rack = buf[pos : pos + n].tobytes().decode(); pos += n
                        n = buf[pos]; pos += 1
                        if n: pos, room = skip_tags(buf, pos, n, room)
                        node_endpoints_2.append(NodeEndpoint(node_id, host, port, rack))
                    node_endpoints = node_endpoints_2
                else: pos = stop_2
                if pos != stop_2: raise bad_tag(tag_2, size_2)
        if pos != end: raise left_over(end - pos)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, node_endpoints)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[FetchResponse]] = {
    4: decode_4,
    5: decode_5,
    6: decode_5,
    7: decode_7,
    8: decode_7,
    9: decode_7,
    10: decode_7,
    11: decode_11,
    12: decode_12,
    13: decode_13,
    14: decode_13,
    15: decode_13,
    16: decode_16,
    17: decode_16,
}
