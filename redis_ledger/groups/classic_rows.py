"""Encodes the members of a classic group for storage, and restores a group from them.

    Head, Roster ──changes_of──▶ membership, rows ──Redis──▶ resume ──▶ Head, Roster

Every member gets a new session, because its heartbeats went to a dead broker.
Source: proto/redis_ledger/v1/group.proto; Kafka's GroupMetadataManager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from google.protobuf.message import DecodeError

from redis_ledger.groups.classic_members import ClassicMembers
from redis_ledger.groups.member import Changes, Member
from redis_ledger.proto import group_pb2 as pb
from redis_ledger.telemetry.logs import get

VERSION = 1
_log = get()


class Head(NamedTuple):
    """The stored state of a group besides its members.  is_stable: all members have an assignment, or there are
    none."""

    generation: int
    is_stable: bool
    protocol_type: str
    protocol: str
    leader: str

    def encode(self) -> bytes:
        head = pb.ClassicGroup(
            version=VERSION, is_stable=self.is_stable, protocol_type=self.protocol_type, protocol=self.protocol,
            leader=self.leader,
        )  # fmt: skip
        return head.SerializeToString()


def changes_of(head: Head, roster: ClassicMembers, *, is_whole: bool) -> Changes:
    """The changes of the roster since the last call.  is_whole: store all members, changed or not."""
    stored = {member_id: one for member_id, one in roster.members.items() if not one.is_new}
    ids, roster.changed = stored.keys() if is_whole else roster.changed, set()
    rows = {member_id: _encode(stored[member_id]) if member_id in stored else b"" for member_id in ids}
    return Changes(head.generation, head.encode(), rows, len(stored), is_whole)


def _encode(member: Member) -> bytes:
    return pb.ClassicMember(
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_ms=member.session_ms,
        rebalance_ms=member.rebalance_ms,
        protocols=[pb.ClassicProtocol(name=name, metadata=metadata) for name, metadata in member.protocols.items()],
        assignment=member.assignment,
    ).SerializeToString()


def resume(
    name: str, generation: int, protocol_type: str, membership: bytes, rows: Mapping[str, bytes], now: float
) -> tuple[Head, ClassicMembers]:
    """The stored group.  Without members if they cannot be decoded: they rejoin then."""
    roster, stored, members = ClassicMembers(), pb.ClassicGroup(), []
    try:
        stored = pb.ClassicGroup.FromString(membership)
        if stored.version == VERSION:
            members = [_decode(member_id, rows[member_id], now) for member_id in sorted(rows)]
    except DecodeError as error:
        _log.error("the stored members of a consumer group cannot be decoded; they must rejoin", group=name,
                   error=str(error))  # fmt: skip
    if not members:
        return Head(generation, True, protocol_type, "", ""), roster
    for member in members:
        roster.add(member)
    if stored.leader in roster.members:
        roster.leader = stored.leader
    return Head(generation, stored.is_stable, stored.protocol_type, stored.protocol, roster.leader), roster


def _decode(member_id: str, row: bytes, now: float) -> Member:
    stored = pb.ClassicMember.FromString(row)
    return Member(
        member_id, stored.instance_id if stored.HasField("instance_id") else None, stored.client_id,
        stored.client_host, stored.session_ms, stored.rebalance_ms, {p.name: p.metadata for p in stored.protocols},
        now + stored.session_ms, stored.assignment, is_new=False,
    )  # fmt: skip
