"""Made by `make generate` from Apache Kafka's CreateTopicsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihi = struct.Struct(">ihi").unpack_from
_ii = struct.Struct(">ii").unpack_from
_io = struct.Struct(">i?").unpack_from
_ioB = struct.Struct(">i?B").unpack_from


class CreatableReplicaAssignment(Struct, gc=False):
    """The manual partition assignment, or the empty array if we are using automatic assignment."""

    partition_index: int = 0  # The partition index.
    broker_ids: list[int] = []  # The brokers to place the partition on.


class CreatableTopicConfig(Struct, gc=False):
    """The custom topic configurations to set."""

    name: str = ""  # The configuration name.
    value: str | None = ""  # The configuration value.


class CreatableTopic(Struct, gc=False):
    """The topics to create."""

    name: str = ""  # The topic name.
    num_partitions: int = 0  # The number of partitions to create in the topic, or -1 if we are either specifying a manual partition assignment or using the default partitions.
    replication_factor: int = 0  # The number of replicas to create for each partition in the topic, or -1 if we are either specifying a manual partition assignment or using the default replication factor.
    assignments: list[CreatableReplicaAssignment] = []  # The manual partition assignment, or the empty array if we are using automatic assignment.
    configs: list[CreatableTopicConfig] = []  # The custom topic configurations to set.


class CreateTopicsRequest(Struct, gc=False):
    topics: list[CreatableTopic] = []  # The topics to create.
    timeout_ms: int = 60000  # How long to wait in milliseconds before timing out the request.
    validate_only: bool = False  # If true, check that the topics can be created as specified, but don't create anything.


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> CreateTopicsRequest:
    """Versions 2 to 4."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n * 16 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[CreatableTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            num_partitions, replication_factor, n = _ihi(buf, pos); pos += 10
            if not 0 <= n * 8 <= end - pos: raise bad_length("assignments", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            assignments: list[CreatableReplicaAssignment] = []
            for _ in range(n):
                partition_index, n = _ii(buf, pos); pos += 8
                if not 0 <= n * 4 <= end - pos: raise bad_length("broker_ids", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                broker_ids: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                assignments.append(CreatableReplicaAssignment(partition_index, broker_ids))
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("configs", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            configs: list[CreatableTopicConfig] = []
            for _ in range(n):
                (n,) = _h(buf, pos); pos += 2
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                (n,) = _h(buf, pos); pos += 2
                if n == -1: value = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                    value = buf[pos : pos + n].tobytes().decode(); pos += n
                configs.append(CreatableTopicConfig(name_2, value))
            topics.append(CreatableTopic(name, num_partitions, replication_factor, assignments, configs))
        timeout_ms, validate_only = _io(buf, pos); pos += 5
        return CreateTopicsRequest(topics, timeout_ms, validate_only)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> CreateTopicsRequest:
    """Versions 5 to 7."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 10 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[CreatableTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            num_partitions, replication_factor, n = _ihB(buf, pos); pos += 7
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 6 <= end - pos: raise bad_length("assignments", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            assignments: list[CreatableReplicaAssignment] = []
            for _ in range(n):
                partition_index, n = _iB(buf, pos); pos += 5
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("broker_ids", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                broker_ids: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                assignments.append(CreatableReplicaAssignment(partition_index, broker_ids))
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("configs", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            configs: list[CreatableTopicConfig] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if n == -1: value = None
                else:
                    if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                    value = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                configs.append(CreatableTopicConfig(name_2, value))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            topics.append(CreatableTopic(name, num_partitions, replication_factor, assignments, configs))
        timeout_ms, validate_only, n = _ioB(buf, pos); pos += 6
        if n: pos, room = skip_tags(buf, pos, n, room)
        return CreateTopicsRequest(topics, timeout_ms, validate_only)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[CreateTopicsRequest]] = {
    2: decode_2,
    3: decode_2,
    4: decode_2,
    5: decode_5,
    6: decode_5,
    7: decode_5,
}
