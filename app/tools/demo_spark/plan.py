"""When the Spark demo kills what.

    done    0 %       15 %       30 %      45 %       60 %      80 %      100 %
    streams             d          d         d          b         r          d driver, b broker, r redis
                                   │         └ the batch is committed, Spark has not heard of it
                                   └ all of the batch is written, nothing of it decided

The two in the middle of a commit are no luck: the driver stops there and waits to be killed.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Victim = Literal["driver", "broker", "redis"]
Point = Literal["", "written", "committed"]


class Kill(NamedTuple):
    """at: the share of flights that are processed by then, 0 to 1; with a point, about.  point: where in a commit the
    driver is."""

    at: float
    victim: Victim
    point: Point = ""


ALL = (
    Kill(0.15, "driver"),
    Kill(0.30, "driver", "written"),
    Kill(0.45, "driver", "committed"),
    Kill(0.60, "broker"),
    Kill(0.80, "redis"),
)


def next_point(kills: tuple[Kill, ...] | list[Kill]) -> Point:
    """Where a driver that is started now is to stop: the next kill, if it is one of a driver."""
    return kills[0].point if kills and kills[0].victim == "driver" else ""
