"""Bodies of the test hooks."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from redis_ledger.app.http.schemas.core import Reply, Request, TimeMs

DAY_MS = 86_400_000
YEARS_MS = 36_500 * DAY_MS  # a hundred of them


class Fault(Request):
    """A fault at a point of POINTS."""

    point: Annotated[str, Meta(max_length=100)]
    act: Literal["crash", "fail", "delay"]
    when: Annotated[
        Literal["before", "after"], Meta(description="Before the write leaves, or when Redis has answered.")
    ] = "before"
    times: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    skip: Annotated[int, Meta(ge=0, le=1_000_000, description="How many times the point is passed first.")] = 0
    delay_ms: Annotated[int, Meta(ge=0, le=DAY_MS)] = 0


class Faults(Reply):
    points: Annotated[dict[str, str], Meta(description="What is written at each point.")]
    armed: list[Fault]


class SetClock(Request):
    """Give one of both."""

    now_ms: TimeMs | UnsetType = UNSET
    advance_ms: Annotated[int, Meta(ge=-YEARS_MS, le=YEARS_MS)] | UnsetType = UNSET


class Clock(Reply):
    now_ms: int
    shift_ms: Annotated[int, Meta(description="How far it is ahead of Redis's clock.")]
