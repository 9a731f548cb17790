"""The kill schedule of the Spark demo.

    done    0 %       15 %       30 %      45 %       60 %      80 %      100 %
    streams             d          d         d          b         r          d driver, b broker, r redis
                                   │         └ the batch is committed, Spark has not recorded it
                                   └ the batch is written, not committed

The two kills in the middle of a commit are deterministic: the driver pauses there until it is killed.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Victim = Literal["driver", "broker", "redis"]
Point = Literal["", "written", "committed"]


class Kill(NamedTuple):
    """at: the processed share of the flights, 0 to 1; approximate with a point.  point: the point in the driver's
    commit."""

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
    """The point at which a new driver must pause; empty if the next kill is not of the driver."""
    return kills[0].point if kills and kills[0].victim == "driver" else ""
