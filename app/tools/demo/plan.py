"""The kill schedule of the demo.

    done    0 %        25 %        50 %        75 %       100 %
            b    w    r    b    w    r    b    w    b+r          b broker, w worker, r redis

Kills are distributed over the work, not over time, so that their number does not depend on the speed of the machine.
"""

from __future__ import annotations

from typing import NamedTuple

Victim = str
ORDER: tuple[tuple[Victim, ...], ...] = (("broker",), ("worker",), ("redis",))
LAST: tuple[Victim, ...] = ("broker", "redis")


class Kill(NamedTuple):
    """at: the completed share of the work, 0 to 1.  victims: killed simultaneously."""

    at: float
    victims: tuple[Victim, ...]


def plan(rounds: int) -> list[Kill]:
    """Each of the three is killed once per round; in the last round broker and Redis are killed together."""
    steps = [victims for _ in range(rounds) for victims in ORDER]
    if steps:
        steps[-1] = LAST
    # None in the first and last twentieth: the workers must be busy when they are killed.
    return [Kill(0.05 + 0.9 * index / len(steps), victims) for index, victims in enumerate(steps)]
