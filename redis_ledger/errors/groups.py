"""What members of a Kafka group are refused for.  Source: Kafka's group protocol, KIP-345, KIP-394, KIP-848."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict


class GroupError(Conflict):
    """The consumer group does not allow this. See the detail."""

    code = "group_error"


class NotCoordinator(GroupError):
    """Another broker coordinates this group. Ask which with FindCoordinator, and go there."""

    code, kafka_code, retriable = "not_coordinator", 16, True


class IllegalGeneration(GroupError):
    """The group has gone on to another generation. Join it again."""

    code, kafka_code = "illegal_generation", 22


class InconsistentProtocol(GroupError):
    """The member has no protocol in common with the group. Use an assignor that all members have."""

    code, kafka_code = "inconsistent_protocol", 23


class UnknownMember(GroupError):
    """The group has no such member. Join it again without a member id."""

    code, kafka_code = "unknown_member", 25


class RebalanceInProgress(GroupError):
    """The group is rebalancing. Join it again."""

    code, kafka_code, retriable = "rebalance_in_progress", 27, True


class MemberIdRequired(GroupError):
    """A member joins with an id. Join again with the one that was given (KIP-394)."""

    code, kafka_code, retriable = "member_id_required", 79, True


class GroupFull(GroupError):
    """The group has as many members as it may have. Stop one, or raise group_members_max."""

    code, kafka_code = "group_full", 81


class GroupNotEmpty(GroupError):
    """The group has members. Stop them first."""

    code, kafka_code = "group_not_empty", 68


class GroupSubscribed(GroupError):
    """The group is subscribed to the topic. Its offsets there cannot be deleted while it is."""

    code, kafka_code = "group_subscribed", 86


class FencedInstance(GroupError):
    """Another member has this group.instance.id now. Close this one, or give each its own."""

    code, kafka_code = "fenced_instance", 82


class FencedMember(GroupError):
    """The member's epoch is not the one the group knows. Give all partitions up and join again (KIP-848)."""

    code, kafka_code = "fenced_member", 110


class UnreleasedInstance(GroupError):
    """The group.instance.id is still in use by another member. Wait until it has left (KIP-848)."""

    code, kafka_code, retriable = "unreleased_instance", 111, True


class UnsupportedAssignor(GroupError):
    """The group has no assignor of this name. Use uniform or range (KIP-848)."""

    code, kafka_code = "unsupported_assignor", 112


class StaleMember(GroupError):
    """The member's epoch is behind the group's. Send a heartbeat, then try again (KIP-848)."""

    code, kafka_code, retriable = "stale_member", 113, True


class UnstableOffsets(GroupError):
    """An open transaction holds an offset of this partition. Ask again when it has ended (KIP-447)."""

    code, kafka_code, retriable = "unstable_offsets", 88, True
