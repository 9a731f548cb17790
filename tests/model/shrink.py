"""Makes a failing history small: leaves out steps, holds and fates, as long as it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from tests.model.steps import Step

# Runs a program; the steps up to its failure that had a meaning, or None if it does not fail.
Fails = Callable[[Sequence[Step]], Awaitable[list[Step] | None]]


async def shrunk(program: Sequence[Step], fails: Fails, within_s: float = 120.0) -> list[Step]:
    """The smallest program found that still fails."""
    until = time.monotonic() + within_s
    best = list(program)
    size = len(best) // 2
    while size and time.monotonic() < until:
        smaller = await _without_runs(best, size, fails, until)
        if len(smaller) == len(best):
            size //= 2
        best = smaller
    for number, step in enumerate(list(best)):
        for simpler in _simpler(step):
            candidate = [*best[:number], simpler, *best[number + 1 :]]
            if time.monotonic() < until and await fails(candidate) is not None:
                best = candidate
                break
    return best


async def _without_runs(program: list[Step], size: int, fails: Fails, until: float) -> list[Step]:
    at = 0
    while at < len(program) and time.monotonic() < until:
        left = await fails(program[:at] + program[at + size :])
        if left is not None:
            program = left
        else:
            at += size
    return program


def _simpler(step: Step) -> list[Step]:
    if step.hold is None:
        return []
    return [replace(step, hold=None, fate="answered"), replace(step, fate="answered"),
            replace(step, hold=replace(step.hold, steps=1))]  # fmt: skip
