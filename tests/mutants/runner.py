"""Plants mutants one at a time and runs the tests of each.

    copy the tree ─▶ tests of all mutants, unchanged ─▶ each mutant: change one file, run its tests, change it back
                             │ must pass                                               │ must fail

Several mutants run at once, each in a copy of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple

from tests.mutants.scratch import RUN_S_MAX, Scratch, TestRun
from tests.mutants.table import DoesNotApply, Mutant, missing_tests

BASELINE_S_MAX = 1_200.0


class Outcome(StrEnum):
    CAUGHT = "caught"
    SURVIVED = "survived"
    DOES_NOT_APPLY = "does not apply"
    BROKEN_TEST = "broken test"  # it is missing, or fails without the mutant
    BROKEN_MUTANT = "broken mutant"  # with it, the tests do not start or do not end


class Result(NamedTuple):
    """note: why the mutant is not caught; of a caught one, the tests that failed."""

    mutant: Mutant
    outcome: Outcome
    seconds: float
    note: str


def run(
    root: Path, folder: Path, mutants: Sequence[Mutant], *, jobs: int = 1, keep_going: bool = True
) -> Iterator[Result]:
    """Returns the result of each mutant, in order; without keep_going, up to the first that is not caught."""
    scratches = [Scratch(root, folder / str(number)) for number in range(max(1, min(jobs, len(mutants))))]
    there = sorted({test for each in mutants if not missing_tests(root, each) for test in each.tests})
    unchanged = scratches[0].run(there, limit_s=BASELINE_S_MAX, workers=len(scratches))
    free: SimpleQueue[Scratch] = SimpleQueue()
    for scratch in scratches:
        free.put(scratch)
    stopped = Event()

    def judged(mutant: Mutant) -> Result | None:
        if stopped.is_set():
            return None
        scratch, began_s = free.get(), time.monotonic()
        try:
            outcome, note = judge(root, mutant, unchanged, scratch)
        finally:
            free.put(scratch)
        if outcome is not Outcome.CAUGHT and not keep_going:
            stopped.set()
        return Result(mutant, outcome, time.monotonic() - began_s, note)

    with ThreadPoolExecutor(len(scratches)) as pool:
        try:
            yield from filter(None, pool.map(judged, mutants))
        finally:
            stopped.set()


def judge(root: Path, mutant: Mutant, unchanged: TestRun, scratch: Scratch) -> tuple[Outcome, str]:
    """unchanged: the tests of all mutants, without any of them."""
    missing = missing_tests(root, mutant)
    if missing or not mutant.tests:
        return Outcome.BROKEN_TEST, f"there is no {', '.join(missing) or 'test'}"
    failing = [test for test in mutant.tests if not (found := unchanged.of(test)) or not all(found)]
    if failing:
        return Outcome.BROKEN_TEST, f"without the mutant, {', '.join(failing)} did not pass\n{unchanged.output}"
    try:
        with scratch.planted(mutant):
            changed = scratch.run(mutant.tests, limit_s=RUN_S_MAX)
    except (DoesNotApply, OSError) as error:
        return Outcome.DOES_NOT_APPLY, str(error)
    if changed.code is None:
        return Outcome.BROKEN_MUTANT, f"its tests ran for more than {RUN_S_MAX} s\n{changed.output}"
    if not changed.is_complete:
        return Outcome.BROKEN_MUTANT, f"its tests did not run\n{changed.output}"
    passed = [test for test in mutant.tests if all(changed.of(test))]
    if passed:
        return Outcome.SURVIVED, f"passed: {', '.join(passed)}"
    return Outcome.CAUGHT, f"failed: {', '.join(mutant.tests)}"
