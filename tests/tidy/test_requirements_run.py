"""A test that names a requirement is run: pytest collects it, a step runs it, and nothing skips it.

`make test` runs it, or `make test-all` if it is marked `full`.  Every requirement has a test that `make test` runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from scripts import gen_requirements, steps
from scripts.gen_requirements import catalogue, collected, named
from tests.spark.quick import is_quick
from tests.tidy.marked import Share, left_out, mentions, share_marked, skips_in, uncollected
from tests.tidy.tree import ROOT, files, shown, tree_of

# The environment of these is another one, and takes minutes: `make test-all` runs the quick ones.
SPARK = "tests/spark/"
# These have tests of Spark only, so `make test` runs none of them.
ONLY_WITH_SPARK = {"TB-29"}  # compaction of offloaded records is a job of Spark's
NOT_SEARCHED = (".", "build", "dist", "node_modules", "venv", "CVS", "_darcs")  # pytest's norecursedirs


class Named(NamedTuple):
    """A test that names requirements.  full: how many of its parameters are marked so."""

    test: str
    path: str
    requirements: frozenset[str]
    uncollected: list[str]
    skips: list[str]
    full: Share


@cache
def naming() -> Sequence[Named]:
    """Every test that names a requirement."""
    return [
        Named(
            f"{path}::{name}",
            path,
            frozenset(requirements),
            uncollected(module, name, function),
            sorted(left_out(module, name, function)),
            share_marked(module, name, function, "full"),
        )
        for path, module in gen_requirements.modules()
        for name, function in collected(module)
        if (requirements := named(function))
    ]


class Selection(NamedTuple):
    """What a pytest of a step runs.  expression: its `-m`."""

    folders: list[str]
    ignored: list[str]
    expression: str

    def has(self, path: str, marks: set[str]) -> bool:
        values = {mark: mark in marks for mark in ("full", "slow", "hypothesis")}
        return (
            any(path == each or path.startswith(f"{each}/") for each in self.folders)
            and path not in self.ignored
            and bool(eval(self.expression or "True", {}, values))  # pytest's expressions are Python's
        )


def selections(names: Sequence[str]) -> Iterator[Selection]:
    for name in names:
        command = list(steps.STEPS[name].command)
        if command[1:3] == ["-m", "pytest"]:
            expressions = [after for word, after in pairwise(command[2:]) if word == "-m"]
            yield Selection(
                [word for word in command if word.startswith("tests/")],
                [word.removeprefix("--ignore=") for word in command if word.startswith("--ignore=")],
                expressions[-1] if expressions else "",
            )


@cache
def selected(plan: str) -> Sequence[Selection]:
    return list(selections(steps.PLANS[plan]))


def is_run(plan: str, path: str, *marks: str) -> bool:
    return any(each.has(path, set(marks)) for each in selected(plan))


def is_run_with_spark(each: Named) -> bool:
    return (
        each.path.startswith(SPARK)
        and "spark-quick" in steps.PLANS["test-all"]
        and is_quick(each.path.removeprefix(SPARK), each.test.rpartition("::")[2])
    )


def is_in_make_test(each: Named) -> bool:
    return each.full != "all" and is_run("test", each.path)


def test_pytest_collects_every_test_that_names_a_requirement():
    assert len(naming()) > 250
    assert {each.test: each.uncollected for each in naming() if each.uncollected} == {}


def test_pytest_searches_every_folder_with_such_a_test_by_its_usual_names():
    parts = {part for each in naming() for part in each.path.split("/")[:-1]}
    assert [part for part in parts if part.startswith(NOT_SEARCHED)] == []
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert (
        options.keys()
        & {"python_files", "python_classes", "python_functions", "norecursedirs", "collect_imported_tests"}
        == set()
    )
    folders = {ROOT / each.path for each in naming() if not each.path.startswith(SPARK)}
    above = {
        parent / "conftest.py" for path in folders for parent in path.parents if parent.is_relative_to(ROOT / "tests")
    }
    hooks = ("collect_ignore", "def pytest_ignore_collect", "def pytest_collect", "def pytest_pycollect", "deselected")
    assert [shown(path) for path in above if path.exists() and any(hook in path.read_text() for hook in hooks)] == []


def test_make_test_runs_every_test_that_names_a_requirement_or_test_all_if_it_is_marked_full():
    not_run = [
        each.test
        for each in naming()
        if not (is_in_make_test(each) or each.full == "all" or is_run_with_spark(each))
        or (each.full != "none" and not is_run("test-all", each.path, "full"))
    ]
    assert not_run == []


def test_make_test_runs_a_test_of_every_requirement():
    """But of those that only Spark's tests perform, which `make test-all` runs."""
    with_a_test = {each.id for each in catalogue() if not each.missing_because}
    in_make_test = {name for each in naming() if is_in_make_test(each) for name in each.requirements}
    assert with_a_test - in_make_test == ONLY_WITH_SPARK
    with_spark = {name for each in naming() if is_run_with_spark(each) for name in each.requirements}
    assert with_spark >= ONLY_WITH_SPARK


def test_nothing_skips_a_test_that_names_a_requirement():
    assert {each.test: each.skips for each in naming() if each.skips} == {}


def test_no_fixture_and_no_helper_skips_the_test_that_uses_it():
    """But in tests/compat, whose clients may not be there and which perform no requirement.  None marks a test `full`
    either, whether a test is one is read in its own module; but tests/lua, where one of three connections is."""
    helpers = [path for path in files(".py") if shown(path).startswith("tests/support/") or path.name == "conftest.py"]
    elsewhere = [path for path in helpers if not shown(path).startswith(("tests/compat/", SPARK))]
    assert len(elsewhere) > 20
    trees = {shown(path): tree_of(path) for path in elsewhere}
    assert {name: skips for name, tree in trees.items() if (skips := skips_in(tree))} == {
        "tests/support/collection.py": {"skip"}  # catches it
    }
    assert [name for name, tree in trees.items() if mentions(tree, "full")] == ["tests/lua/conftest.py"]
