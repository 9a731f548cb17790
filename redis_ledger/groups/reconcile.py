"""Reconciliation of a member with its target assignment: first revoke, then assign (KIP-848).

                 ┌──────────────── nothing more to wait for ────────────────┐
                 ▼                                                          │
    STABLE ──new target──▶ UNREVOKED ──revoked──▶ UNRELEASED ──others revoked
                           still owns what it lost     waits for partitions that others still own
                           stays in its epoch          is in the target's epoch

A partition belongs to a member from its assignment until the member reports that it no longer owns it.  Only then it
may be assigned to another member, so no partition is read by two members.  Source: KIP-848 "Reconciliation of the
group".
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from redis_ledger.groups.assignors import Slice

NOTHING: frozenset[Slice] = frozenset()


class Phase(Enum):
    STABLE = "stable"
    UNREVOKED = "unrevoked"
    UNRELEASED = "unreleased"


class MemberAssignment(NamedTuple):
    """The current assignment of a member.  revoking: partitions that it must revoke and may still be reading."""

    epoch: int
    phase: Phase = Phase.STABLE
    assigned: frozenset[Slice] = NOTHING
    revoking: frozenset[Slice] = NOTHING

    @property
    def belongings(self) -> frozenset[Slice]:
        """Returns the partitions that other members must not own."""
        return self.assigned | self.revoking if self.revoking else self.assigned


def step(
    at: MemberAssignment,
    owned: frozenset[Slice] | None,
    target: frozenset[Slice],
    target_epoch: int,
    is_free: Callable[[Slice], bool],
) -> MemberAssignment:
    """Advances the member as far as possible.

    owned    the partitions that the member reports; None if not reported: nothing has been revoked
    is_free  whether no other member owns a partition
    """
    epoch = at.epoch
    match at.phase:
        case Phase.STABLE:
            if epoch == target_epoch:
                return at
        case Phase.UNREVOKED:
            if owned is None or owned & at.revoking:
                return at
            epoch = min(epoch + 1, target_epoch)
        case Phase.UNRELEASED:
            pass
    kept = at.assigned & target
    losing = at.assigned - kept
    if losing and (owned is None or owned & losing):
        return MemberAssignment(epoch, Phase.UNREVOKED, kept, losing)
    missing = target - kept
    free = frozenset(filter(is_free, missing))
    return MemberAssignment(target_epoch, Phase.STABLE if free == missing else Phase.UNRELEASED, kept | free)
