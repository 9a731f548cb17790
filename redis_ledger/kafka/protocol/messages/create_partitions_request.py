"""Made by `make generate` from Apache Kafka's CreatePartitionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_io = struct.Struct(">i?").unpack_from
_ioB = struct.Struct(">i?B").unpack_from


class CreatePartitionsAssignment(Struct, gc=False):
    """The new partition assignments."""

    broker_ids: list[int] = []  # The assigned broker IDs.


class CreatePartitionsTopic(Struct, gc=False):
    """Each topic that we want to create new partitions inside."""

    name: str = ""  # The topic name.
    count: int = 0  # The new partition count.
    assignments: list[CreatePartitionsAssignment] | None = []  # The new partition assignments.


class CreatePartitionsRequest(Struct, gc=False):
    topics: list[CreatePartitionsTopic] = []  # Each topic that we want to create new partitions inside.
    timeout_ms: int = 0  # The time in ms to wait for the partitions to be created.
    validate_only: bool = False  # If true, then validate the request, but don't actually increase the number of partitions.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> CreatePartitionsRequest:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 10 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[CreatePartitionsTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            count, n = _ii(buf, pos); pos += 8
            assignments: list[CreatePartitionsAssignment] | None = None
            if n != -1:
                if not 0 <= n * 4 <= end - pos: raise bad_length("assignments", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                assignments = []
                for _ in range(n):
                    (n,) = _i(buf, pos); pos += 4
                    if not 0 <= n * 4 <= end - pos: raise bad_length("broker_ids", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    broker_ids: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                    assignments.append(CreatePartitionsAssignment(broker_ids))
            topics.append(CreatePartitionsTopic(name, count, assignments))
        timeout_ms, validate_only = _io(buf, pos); pos += 5
        return CreatePartitionsRequest(topics, timeout_ms, validate_only)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> CreatePartitionsRequest:
    """Versions 2 to 3."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 7 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[CreatePartitionsTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            count, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            assignments: list[CreatePartitionsAssignment] | None = None
            if n != -1:
                if not 0 <= n * 2 <= end - pos: raise bad_length("assignments", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                assignments = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_length(buf, pos, n)
                    n -= 1
                    if not 0 <= n * 4 <= end - pos: raise bad_length("broker_ids", n, end - pos)
                    if (room := room - n) < 0: raise too_many()
                    broker_ids: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                    n = buf[pos]; pos += 1
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    assignments.append(CreatePartitionsAssignment(broker_ids))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(CreatePartitionsTopic(name, count, assignments))
        timeout_ms, validate_only, n = _ioB(buf, pos); pos += 6
        if n: pos, room = skip_tags(buf, pos, n, room)
        return CreatePartitionsRequest(topics, timeout_ms, validate_only)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[CreatePartitionsRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
    3: decode_2,
}
