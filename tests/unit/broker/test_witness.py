"""What the counter of a node tells."""

from __future__ import annotations

import pytest

from redis_ledger.broker.cluster.witness import Count, lost_above, parse_lives

A, B, C = "run-a repl-a", "run-b repl-b", "run-c repl-c"


@pytest.mark.parametrize(
    ("remembered", "stored", "lives", "lost"),
    [
        ((A, 70), 70, [(A, 0)], -1),
        ((A, 70), 90, [(A, 0)], -1),
        ((A, 70), 60, [(A, 0)], 60),
        ((A, 70), 75, [(A, 0), (B, 70)], -1),
        ((A, 70), 72, [(A, 0), (B, 71)], -1),
        # others have raised it past the remembered count
        ((A, 70), 90, [(A, 0), (B, 60)], 60),
        ((A, 70), 90, [(A, 0), (B, 80), (C, 60)], 60),
        ((B, 70), 90, [(A, 0), (B, 60)], -1),
        # a life that is not listed any more, or never was
        ((C, 70), 90, [(A, 0), (B, 60)], -1),
        (("", 70), 90, [], -1),
    ],
)
def test_a_life_that_ended_lower_lost_writes(remembered, stored, lives, lost):
    assert lost_above(Count(*remembered), stored, [Count(*each) for each in lives]) == lost


def test_lives_are_read_as_they_are_stored():
    assert parse_lives([b"run-a repl-a 0", b"run-b repl-b 60"]) == [Count(A, 0), Count(B, 60)]
