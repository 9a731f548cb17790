"""One member's steps towards its target, cell by cell."""

from __future__ import annotations

import pytest

from redis_ledger.groups.reconcile import MemberAssignment, Phase, step

A, B, C, D = ((b"t", number) for number in range(4))
NOT_SAID = None


def some(*slices: tuple[bytes, int]) -> frozenset[tuple[bytes, int]]:
    return frozenset(slices)


def stable(epoch: int, *assigned: tuple[bytes, int]) -> MemberAssignment:
    return MemberAssignment(epoch, Phase.STABLE, some(*assigned))


def unreleased(epoch: int, *assigned: tuple[bytes, int]) -> MemberAssignment:
    return MemberAssignment(epoch, Phase.UNRELEASED, some(*assigned))


def unrevoked(epoch: int, assigned: frozenset[tuple[bytes, int]], *revoking: tuple[bytes, int]) -> MemberAssignment:
    return MemberAssignment(epoch, Phase.UNREVOKED, assigned, some(*revoking))


@pytest.mark.parametrize(
    ("at", "owned", "target", "epoch", "taken", "after"),
    [
        # a member that is where it is to be stays there
        (stable(5, A), NOT_SAID, some(A), 5, (), stable(5, A)),
        # a newcomer is given what is free, and waits for what is not
        (stable(0), some(), some(A, B), 1, (), stable(1, A, B)),
        (stable(0), some(), some(A, B), 1, (B,), unreleased(1, A)),
        (stable(0), some(), some(A), 1, (A,), unreleased(1)),
        # what it keeps it keeps
        (stable(1, A), NOT_SAID, some(A, B), 2, (), stable(2, A, B)),
        # it gives up before it receives, and stays in its epoch as long
        (stable(1, A, B), NOT_SAID, some(A, C), 2, (), unrevoked(1, some(A), B)),
        (stable(1, A, B), some(A, B), some(A, C), 2, (), unrevoked(1, some(A), B)),
        (unrevoked(1, some(A), B), NOT_SAID, some(A, C), 2, (), unrevoked(1, some(A), B)),
        (unrevoked(1, some(A), B), some(A, B), some(A, C), 2, (), unrevoked(1, some(A), B)),
        (unrevoked(1, some(A), B), some(A), some(A, C), 2, (), stable(2, A, C)),
        # what it says it does not own need not be given up
        (stable(1, A, B), some(A), some(A, C), 2, (), stable(2, A, C)),
        # a newer target may want more of it: one epoch on, and again
        (unrevoked(1, some(A), B), some(A), some(C), 7, (), unrevoked(2, some(), A)),
        (unrevoked(2, some(), A), some(), some(C), 7, (), stable(7, C)),
        # an epoch that the group has not reached is never given
        (unrevoked(7, some(A), B), some(A), some(), 7, (), unrevoked(7, some(), A)),
        # what it gave up may come back
        (unrevoked(1, some(A), B), some(A), some(A, B), 3, (), stable(3, A, B)),
        # it waits until others have given up theirs, and takes piece by piece
        (unreleased(2, A), NOT_SAID, some(A, B, C), 2, (B, C), unreleased(2, A)),
        (unreleased(2, A), NOT_SAID, some(A, B, C), 2, (C,), unreleased(2, A, B)),
        (unreleased(2, A), NOT_SAID, some(A, B), 2, (), stable(2, A, B)),
        (unreleased(2, A), NOT_SAID, some(B), 3, (B,), unrevoked(2, some(), A)),
        # who begins anew owns nothing, whatever was going on
        (stable(0, A), some(), some(A, B), 4, (), stable(4, A, B)),
        (unrevoked(0, some(A), B), some(), some(A), 4, (), stable(4, A)),
        (unreleased(0, A), some(), some(A, B), 4, (B,), unreleased(4, A)),
    ],
)
def test_a_member_goes_as_far_as_it_can(at, owned, target, epoch, taken, after):
    assert step(at, owned, target, epoch, lambda one: one not in taken) == after
