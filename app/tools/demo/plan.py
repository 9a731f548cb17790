"""When the demo kills what.

    done    0 %        25 %        50 %        75 %       100 %
            b    w    r    b    w    r    b    w    b+r          b broker, w worker, r redis

Kills are spread over the work and not over the clock, so that a fast machine is hit as often as a slow one.
"""

from __future__ import annotations

from typing import NamedTuple

Victim = str
ORDER: tuple[tuple[Victim, ...], ...] = (("broker",), ("worker",), ("redis",))
LAST: tuple[Victim, ...] = ("broker", "redis")


class Kill(NamedTuple):
    """at: the share of the work that is done by then, 0 to 1.  victims: ended at the same moment."""

    at: float
    victims: tuple[Victim, ...]


def plan(rounds: int) -> list[Kill]:
    """Each of the three is killed once a round; in the last round broker and redis go together."""
    steps = [victims for _ in range(rounds) for victims in ORDER]
    if steps:
        steps[-1] = LAST
    # Nothing in the first and last twentieth: the workers have to be at work when they are hit.
    return [Kill(0.05 + 0.9 * index / len(steps), victims) for index, victims in enumerate(steps)]
