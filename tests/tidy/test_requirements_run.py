"""A test that names a requirement is run: pytest collects it, a step of `make test` runs it, and nothing skips it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest

from scripts import gen_requirements, steps
from scripts.gen_requirements import collected, named
from tests.tidy.tree import ROOT, files, shown, tree_of

SKIPS = {"skip", "skipif", "importorskip", "xfail"}
# These run in an environment of their own, so they cannot be collected here; `slow` is given to them by a list.
SPARK = "tests/spark/"


def skips_in(node: ast.AST) -> set[str]:
    """The names in the node by which a test is left out; `slow` is one where it is a mark."""
    marks = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return (marks & (SKIPS | {"slow"})) | (names & SKIPS)


def left_out(module: ast.Module, name: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """How a test may be left out: by itself, by its class, or by a statement of its module."""
    found = skips_in(function)
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            if name.startswith(f"{node.name}::"):
                found |= {skip for decorator in node.decorator_list for skip in skips_in(decorator)}
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= skips_in(node)
    return found


def naming() -> Iterator[tuple[str, str, ast.Module, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every test that names a requirement: path, name, module, function."""
    for path, module in gen_requirements.modules():
        for name, function in collected(module):
            if named(function):
                yield path, name, module, function


@cache
def ids_collected() -> set[str]:
    """What pytest collects in the files with such tests, without parameters."""
    paths = sorted({path for path, *_ in naming() if not path.startswith(SPARK)})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    return {line.partition("[")[0] for line in done.stdout.splitlines() if line.startswith("tests/")}


def test_pytest_collects_every_test_that_names_a_requirement():
    known = {f"{path}::{name}" for path, name, *_ in naming() if not path.startswith(SPARK)}
    assert len(known) > 250
    assert sorted(known - ids_collected()) == []


def test_a_step_of_make_test_runs_every_test_that_names_a_requirement():
    run = {*steps.FOLDERS, *(step.removesuffix("-quick") for step in steps.PLANS["test-all"])}
    folders = {path.split("/")[1] for path, *_ in naming()}
    assert folders - run == set()


def test_nothing_skips_a_test_that_names_a_requirement():
    found = {
        f"{path}::{name}": sorted(skips)
        for path, name, module, function in naming()
        if (skips := left_out(module, name, function))
    }
    assert found == {}


def test_no_fixture_and_no_helper_skips_the_test_that_uses_it():
    """But in tests/compat, whose clients may not be there and which perform no requirement."""
    helpers = [path for path in files(".py") if shown(path).startswith("tests/support/") or path.name == "conftest.py"]
    elsewhere = [path for path in helpers if not shown(path).startswith(("tests/compat/", SPARK))]
    assert len(elsewhere) > 20
    assert {shown(path): skips for path in elsewhere if (skips := skips_in(tree_of(path)))} == {}


@pytest.mark.parametrize(
    ("source", "skips"),
    [
        ("def test_x(): assert 1", set()),
        ("@pytest.mark.skip\ndef test_x(): assert 1", {"skip"}),
        ("@pytest.mark.skipif(True, reason='')\ndef test_x(): assert 1", {"skipif"}),
        ("@pytest.mark.slow\ndef test_x(): assert 1", {"slow"}),
        ("def test_x():\n    pytest.skip('no')", {"skip"}),
        ("from pytest import skip\ndef test_x():\n    skip('no')", {"skip"}),
        ("pytestmark = [pytest.mark.xfail]\ndef test_x(): assert 1", {"xfail"}),
        ("redis = pytest.importorskip('redis')\ndef test_x(): assert 1", {"importorskip"}),
        ("if 1:\n    pytest.skip('no', allow_module_level=True)\ndef test_x(): assert 1", {"skip"}),
        ("@pytest.mark.skip\ndef test_y(): assert 1\ndef test_x(): assert 1", set()),
    ],
)
def test_the_ways_to_skip_a_test_are_found(source, skips):
    module = ast.parse(source)
    (function,) = [each for name, each in collected(module) if name == "test_x"]
    assert left_out(module, "test_x", function) == skips


def test_a_class_that_is_skipped_skips_its_tests_and_no_others():
    module = ast.parse("@pytest.mark.skip\nclass TestA:\n    def test_x(self): ...\ndef test_y(): ...")
    assert [left_out(module, name, function) for name, function in collected(module)] == [{"skip"}, set()]
