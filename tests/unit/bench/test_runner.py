"""The bench runner: selection of groups, written figures, and failures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bench import figures, runner
from bench.lab import Lab, Pace
from bench.processes import BenchFailed


@pytest.fixture
def written(monkeypatch) -> list[str]:
    """The benches whose figures were written."""
    found = list[str]()
    monkeypatch.setattr(figures, "replace", lambda measured: found.extend(each.bench for each in measured))
    return found


async def fine(labs: Sequence[Lab]) -> None:
    for lab in labs:
        lab.note("case", "per_s", 1.0, "1/s", "process")


async def broken(labs: Sequence[Lab]) -> None:
    await fine(labs[:1])
    raise BenchFailed("no Redis")


async def endless(labs: Sequence[Lab]) -> None:
    await asyncio.sleep(60)


GROUPS = [runner.Group(["a"], fine), runner.Group(["b", "c"], broken), runner.Group(["d", "e"], fine)]


def run(names: Sequence[str], *, is_written: bool = True, keeps_partial: bool = False) -> int:
    return runner.run(GROUPS, names, Pace(), timeout_s=5, is_written=is_written, keeps_partial=keeps_partial)


def test_groups_without_a_wanted_bench_are_not_run_and_only_wanted_figures_are_written(written, capsys):
    assert run(["a", "e"]) == 0
    assert written == ["a", "e"]
    assert "Only a part" not in capsys.readouterr().out


def test_a_group_that_fails_does_not_stop_those_behind_it(written, capsys):
    assert run(["a", "b", "c", "d", "e"]) == 1
    assert written == ["a", "d", "e"]
    assert "b, c: no Redis" in capsys.readouterr().err


def test_a_group_that_fails_leaves_its_figures_where_they_are_to_be_kept(written):
    assert run(["b", "c"], keeps_partial=True) == 1
    assert written == ["b"]


def test_a_part_of_a_run_is_not_written(written, capsys):
    assert run(["a"], is_written=False) == 0
    assert written == []
    assert "nothing was written" in capsys.readouterr().out


def test_a_group_that_takes_too_long_fails(written, capsys):
    assert runner.run([runner.Group(["a"], endless)], ["a"], Pace(), timeout_s=0.01, is_written=True) == 1
    assert written == []
    assert "a: timed out" in capsys.readouterr().err
