"""Made by `make generate` from Apache Kafka's ConsumerGroupDescribeResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct, field

from redis_ledger.kafka.protocol.primitives import NO_UUID, ONE_BYTE, Buffer, Encoder, pack_array, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ii = struct.Struct(">ii").pack
_p_ix = struct.Struct(">ix").pack
_p_u = struct.Struct(">16s").pack
_p_xbx = struct.Struct(">xbx").pack


class TopicPartitions(Struct, gc=False):
    """The assigned topic-partitions to the member."""

    topic_id: bytes = NO_UUID  # The topic ID.
    topic_name: str = ""  # The topic name.
    partitions: list[int] = []  # The partitions.


class Assignment(Struct, gc=False):
    """The current assignment."""

    topic_partitions: list[TopicPartitions] = []  # The assigned topic-partitions to the member.


class Member(Struct, gc=False):
    """The members."""

    member_id: str = ""  # The member ID.
    instance_id: str | None = None  # The member instance ID.
    rack_id: str | None = None  # The member rack ID.
    member_epoch: int = 0  # The current member epoch.
    client_id: str = ""  # The client ID.
    client_host: str = ""  # The client host.
    subscribed_topic_names: list[str] = []  # The subscribed topic names.
    subscribed_topic_regex: str | None = None  # the subscribed topic regex otherwise or null of not provided.
    assignment: Assignment = field(default_factory=Assignment)  # The current assignment.
    target_assignment: Assignment = field(default_factory=Assignment)  # The target assignment.
    member_type: int = -1  # -1 for unknown. 0 for classic member. +1 for consumer member.


class DescribedGroup(Struct, gc=False):
    """Each described group."""

    error_code: int = 0  # The describe error, or 0 if there was no error.
    error_message: str | None = None  # The top-level error message, or null if there was no error.
    group_id: str = ""  # The group ID string.
    group_state: str = ""  # The group state string, or the empty string.
    group_epoch: int = 0  # The group epoch.
    assignment_epoch: int = 0  # The assignment epoch.
    assignor_name: str = ""  # The selected assignor.
    members: list[Member] = []  # The members.
    authorized_operations: int = -2147483648  # 32-bit bitfield to represent authorized operations for this group.


class ConsumerGroupDescribeResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    groups: list[DescribedGroup] = []  # Each described group.


def encode_0(message: ConsumerGroupDescribeResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_state = one.group_state
        data = group_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ii(one.group_epoch, one.assignment_epoch)
        assignor_name = one.assignor_name
        data = assignor_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        members = one.members
        n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            instance_id = one_2.instance_id
            if instance_id is None: out += b"\0"
            else:
                data = instance_id.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            rack_id = one_2.rack_id
            if rack_id is None: out += b"\0"
            else:
                data = rack_id.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += _p_i(one_2.member_epoch)
            client_id = one_2.client_id
            data = client_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            client_host = one_2.client_host
            data = client_host.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            subscribed_topic_names = one_2.subscribed_topic_names
            n = len(subscribed_topic_names) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in subscribed_topic_names:
                data = one_3.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            subscribed_topic_regex = one_2.subscribed_topic_regex
            if subscribed_topic_regex is None: out += b"\0"
            else:
                data = subscribed_topic_regex.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            assignment = one_2.assignment
            topic_partitions = assignment.topic_partitions
            n = len(topic_partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_4 in topic_partitions:
                out += _p_u(one_4.topic_id)
                topic_name = one_4.topic_name
                data = topic_name.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                partitions = one_4.partitions
                n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", partitions)
                out += b"\0"
            out += b"\0"
            target_assignment = one_2.target_assignment
            topic_partitions_2 = target_assignment.topic_partitions
            n = len(topic_partitions_2) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_5 in topic_partitions_2:
                out += _p_u(one_5.topic_id)
                topic_name_2 = one_5.topic_name
                data = topic_name_2.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                partitions_2 = one_5.partitions
                n = len(partitions_2) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", partitions_2)
                out += b"\0"
            out += b"\0\0"
        out += _p_ix(one.authorized_operations)
    out += b"\0"
    return out


def encode_1(message: ConsumerGroupDescribeResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_state = one.group_state
        data = group_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ii(one.group_epoch, one.assignment_epoch)
        assignor_name = one.assignor_name
        data = assignor_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        members = one.members
        n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            instance_id = one_2.instance_id
            if instance_id is None: out += b"\0"
            else:
                data = instance_id.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            rack_id = one_2.rack_id
            if rack_id is None: out += b"\0"
            else:
                data = rack_id.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            out += _p_i(one_2.member_epoch)
            client_id = one_2.client_id
            data = client_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            client_host = one_2.client_host
            data = client_host.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            subscribed_topic_names = one_2.subscribed_topic_names
            n = len(subscribed_topic_names) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_3 in subscribed_topic_names:
                data = one_3.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            subscribed_topic_regex = one_2.subscribed_topic_regex
            if subscribed_topic_regex is None: out += b"\0"
            else:
                data = subscribed_topic_regex.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            assignment = one_2.assignment
            topic_partitions = assignment.topic_partitions
            n = len(topic_partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_4 in topic_partitions:
                out += _p_u(one_4.topic_id)
                topic_name = one_4.topic_name
                data = topic_name.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                partitions = one_4.partitions
                n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", partitions)
                out += b"\0"
            out += b"\0"
            target_assignment = one_2.target_assignment
            topic_partitions_2 = target_assignment.topic_partitions
            n = len(topic_partitions_2) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_5 in topic_partitions_2:
                out += _p_u(one_5.topic_id)
                topic_name_2 = one_5.topic_name
                data = topic_name_2.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                partitions_2 = one_5.partitions
                n = len(partitions_2) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out += pack_array("i", partitions_2)
                out += b"\0"
            out += _p_xbx(one_2.member_type)
        out += _p_ix(one.authorized_operations)
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[ConsumerGroupDescribeResponse]] = {
    0: encode_0,
    1: encode_1,
}
