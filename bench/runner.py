"""Runs benches one group after another, and writes the figures of each group when it is measured.

group ── measure, within timeout_s ──▶ figures ──▶ results/latest.jsonl     a partial run is not written
           │ BenchFailed, a failed assertion, a timeout
           └──▶ named on stderr; the next group runs; exit code 1
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import uvloop
from rich.console import Console

from bench import command, figures
from bench.lab import Lab, Pace
from bench.processes import BenchFailed

Loop = Callable[[Coroutine[Any, Any, None]], None]


class Group(NamedTuple):
    """Benches that share a preparation.  measure: takes a lab for each of the names, in their order."""

    names: Sequence[str]
    measure: Callable[[Sequence[Lab]], Awaitable[None]]


def group_of(package: str, *names: str) -> Group:
    """Uses the module of the package that is named after the first bench."""

    async def measure(labs: Sequence[Lab]) -> None:
        await import_module(f"{package}.{names[0]}").measure(*labs)

    return Group(names, measure)


def run_scaled(module: str, text: str | None, groups: Sequence[Sequence[str]], begin: str, *, timeout_s: float) -> int:
    """Runs a command with --scale and --markdown.  Returns the exit code.

    text    its docstring
    groups  names of benches that are measured together
    begin   the marker of its table in RESULTS.md
    """
    names = [name for group in groups for name in group]
    given = command.scaled(module, text, names)
    if given.markdown:
        return command.show_markdown(module, begin)
    return run(
        [group_of(module, *group) for group in groups],
        given.names or names,
        Pace.of(given.scale),
        timeout_s=timeout_s,
        is_written=given.scale == 1,
    )


def run(
    groups: Sequence[Group],
    names: Sequence[str],
    pace: Pace,
    *,
    timeout_s: float,
    is_written: bool,
    keeps_partial: bool = False,
    loop: Loop = uvloop.run,
) -> int:
    """Returns the exit code.

    names          of the benches to measure; a group runs if one of its benches is among them
    timeout_s      of a group
    keeps_partial  write the figures of a group that failed
    """
    progress = Console(stderr=True)
    measured: list[figures.Figure] = []
    failed: list[str] = []
    for group in groups:
        selected = [name for name in group.names if name in names]
        if not selected:
            continue
        began_s = time.monotonic()
        labs = [Lab(name, pace) for name in group.names]
        if (reason := _failure(group, labs, timeout_s, loop)) is not None:
            progress.print(f"[red]{', '.join(selected)}[/]: {reason}")
            failed += selected
        if reason is None or keeps_partial:
            found = [figure for lab in labs if lab.bench in selected for figure in lab.figures]
            measured += found
            if is_written:
                figures.replace(found)
            progress.print(f"{', '.join(selected)}: {time.monotonic() - began_s:.0f} s")
    _report(measured, is_written)
    return 1 if failed else 0


def _failure(group: Group, labs: Sequence[Lab], timeout_s: float, loop: Loop) -> str | None:
    """Measures the group.  Returns the reason of a failure, or None."""

    async def bounded() -> None:
        async with asyncio.timeout(timeout_s):
            await group.measure(labs)

    try:
        loop(bounded())
    except (BenchFailed, AssertionError, TimeoutError) as error:
        return str(error) or "timed out"
    return None


def _report(measured: Sequence[figures.Figure], is_written: bool) -> None:
    # Without a terminal, rich would limit the table to 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(figures.table(measured))
    if not is_written:
        console.print("This was a partial run: it measured nothing, and nothing was written.")
    if missed := [f"{each.bench} {each.case} {each.metric}" for each in measured if each.is_met is False]:
        console.print(f"Goals missed: {', '.join(missed)}")
