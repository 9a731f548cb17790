"""What members of a Kafka group are refused for.  Source: Kafka's group protocol, KIP-345, KIP-394, KIP-848."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict


class GroupError(Conflict):
    """The consumer group does not allow this request. The detail says why."""

    code = "group_error"


class NotCoordinator(GroupError):
    """Another broker coordinates this group. Find it with FindCoordinator and send the request there."""

    code, kafka_code, retriable = "not_coordinator", 16, True


class IllegalGeneration(GroupError):
    """The generation is not the group's current one. Join the group again."""

    code, kafka_code = "illegal_generation", 22


class InconsistentProtocol(GroupError):
    """The member and the group have no protocol in common. Use an assignor that all members support."""

    code, kafka_code = "inconsistent_protocol", 23


class UnknownMember(GroupError):
    """The group has no such member. Join it again without a member id."""

    code, kafka_code = "unknown_member", 25


class RebalanceInProgress(GroupError):
    """The group is rebalancing. Join it again."""

    code, kafka_code, retriable = "rebalance_in_progress", 27, True


class MemberIdRequired(GroupError):
    """Joining requires a member id. Join again with the id in the response (KIP-394)."""

    code, kafka_code, retriable = "member_id_required", 79, True


class GroupFull(GroupError):
    """The group has reached its maximum number of members. Stop a member or raise group_members_max."""

    code, kafka_code = "group_full", 81


class GroupNotEmpty(GroupError):
    """The group has members. Stop them first."""

    code, kafka_code = "group_not_empty", 68


class GroupSubscribed(GroupError):
    """The group is subscribed to the topic. Unsubscribe before you delete its offsets."""

    code, kafka_code = "group_subscribed", 86


class FencedInstance(GroupError):
    """Another member uses this group.instance.id. Close this member or give each member its own id."""

    code, kafka_code = "fenced_instance", 82


class FencedMember(GroupError):
    """The member's epoch is not the group's. Release all partitions and join again (KIP-848)."""

    code, kafka_code = "fenced_member", 110


class UnreleasedInstance(GroupError):
    """Another member still uses this group.instance.id. Try again after it has left (KIP-848)."""

    code, kafka_code, retriable = "unreleased_instance", 111, True


class UnsupportedAssignor(GroupError):
    """The group does not support this assignor. Use uniform or range (KIP-848)."""

    code, kafka_code = "unsupported_assignor", 112


class StaleMember(GroupError):
    """The member's epoch is behind the group's. Send a heartbeat, then try again (KIP-848)."""

    code, kafka_code, retriable = "stale_member", 113, True


class UnstableOffsets(GroupError):
    """An open transaction has a pending offset on this partition. Try again after it has ended (KIP-447)."""

    code, kafka_code, retriable = "unstable_offsets", 88, True
