"""The runner of mutants, on a small tree with one module and its tests."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import pytest

from tests.mutants import __main__ as command
from tests.mutants import runner, scratch
from tests.mutants.runner import Outcome, run
from tests.mutants.scratch import Scratch
from tests.mutants.table import DoesNotApply, Mutant, load, matching, missing_tests

CODE = '''"""Prices."""


def total(price: int, count: int) -> int:
    return price * count


def is_free(count: int) -> bool:
    return count >= 10
'''
TESTS = """import pytest
from prices import is_free, total


def test_a_total():
    assert total(3, 2) == 6


@pytest.mark.parametrize("count", [10, 11])
def test_ten_are_free(count):
    assert is_free(count)


def test_nothing_is_said_about_nine():
    assert is_free(12)


def test_that_fails_anyway():
    assert total(1, 1) == 2


def test_that_is_skipped():
    pytest.skip("never runs")
"""


@pytest.fixture(autouse=True)
def few_plugins(monkeypatch):
    """Loading those that the small tree does not need takes longer than its tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_timeout,xdist.plugin")


class Remembering(Scratch):
    """Starts pytest with all tests once for each text of the module, on which alone they depend."""

    runs: dict[str, scratch.TestRun]
    lock: Lock

    def run(self, tests: Sequence[str], *, limit_s: float = scratch.RUN_S_MAX, workers: int = 1) -> scratch.TestRun:
        text = (self._folder / "prices.py").read_text()
        with self.lock:
            if text not in self.runs:
                self.runs[text] = super().run(["tests/test_prices.py"], limit_s=limit_s, workers=workers)
            return self.runs[text]


@pytest.fixture(scope="module")
def runs() -> dict[str, scratch.TestRun]:
    return {}


@pytest.fixture
def remembering(runs, monkeypatch):
    monkeypatch.setattr(Remembering, "runs", runs, raising=False)
    monkeypatch.setattr(Remembering, "lock", Lock(), raising=False)
    monkeypatch.setattr(runner, "Scratch", Remembering)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "tests").mkdir(parents=True)
    (root / "prices.py").write_text(CODE)
    (root / "tests" / "test_prices.py").write_text(TESTS)
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    return root


def mutant(text: str, replacement: str, *tests: str, name: str = "one") -> Mutant:
    return Mutant(
        name, "It is wrong.", "prices.py", text, replacement, tuple(f"tests/test_prices.py::{each}" for each in tests)
    )


WRONG_TOTAL = mutant("price * count", "price + count", "test_a_total")
CASES = [
    (WRONG_TOTAL, Outcome.CAUGHT),
    (mutant("count >= 10", "count > 10", "test_ten_are_free"), Outcome.CAUGHT),  # one of its parameters
    (mutant("count >= 10", "count > 10", "test_ten_are_free[10]"), Outcome.CAUGHT),
    (mutant("count >= 10", "count > 10", "test_ten_are_free[11]"), Outcome.SURVIVED),
    (mutant("count >= 10", "count > 10", "test_nothing_is_said_about_nine"), Outcome.SURVIVED),
    (mutant("count >= 10", "count > 10", "test_ten_are_free", "test_a_total"), Outcome.SURVIVED),  # all have to fail
    (mutant("price / count", "price", "test_a_total"), Outcome.DOES_NOT_APPLY),
    (mutant("count", "price", "test_a_total"), Outcome.DOES_NOT_APPLY),  # it is there several times
    (WRONG_TOTAL._replace(file="gone.py"), Outcome.DOES_NOT_APPLY),
    (mutant("price * count", "price + count", "test_that_fails_anyway"), Outcome.BROKEN_TEST),
    (mutant("price * count", "price + count", "test_that_is_skipped"), Outcome.BROKEN_TEST),
    (mutant("price * count", "price + count", "test_that_is_not_there"), Outcome.BROKEN_TEST),
    (mutant("price * count", "price + count"), Outcome.BROKEN_TEST),
    (mutant("price * count", "price *", "test_a_total"), Outcome.BROKEN_MUTANT),  # its tests cannot be collected
]


@pytest.mark.usefixtures("remembering")
def test_each_mutant_gets_its_outcome_and_the_tree_stays_as_it_is(tree, tmp_path):
    mutants = [each._replace(name=f"{number}") for number, (each, _) in enumerate(CASES)]
    results = list(run(tree, tmp_path / "scratch", mutants, jobs=2))
    assert [(each.mutant.name, each.outcome) for each in results] == [
        (each.name, outcome) for each, (_, outcome) in zip(mutants, CASES, strict=True)
    ]
    assert all(each.note for each in results)
    assert (tree / "prices.py").read_text() == CODE
    assert not list(tree.rglob("__pycache__"))


@pytest.mark.usefixtures("remembering")
def test_without_keep_going_the_run_ends_with_the_first_that_is_not_caught(tree, tmp_path):
    survivor = CASES[4][0]._replace(name="survivor")
    results = run(tree, tmp_path / "scratch", [WRONG_TOTAL, survivor, WRONG_TOTAL], keep_going=False)
    assert [each.outcome for each in results] == [Outcome.CAUGHT, Outcome.SURVIVED]


def test_tests_that_do_not_end_are_stopped(tree, tmp_path, monkeypatch):
    endless = mutant("return price * count", "while price:\n        pass", "test_a_total")
    monkeypatch.setattr(runner, "RUN_S_MAX", 3.0)
    (result,) = run(tree, tmp_path / "scratch", [endless])
    assert result.outcome is Outcome.BROKEN_MUTANT
    assert "more than 3.0 s" in result.note


def test_a_module_is_compiled_again_when_its_mutant_has_gone(tree, tmp_path):
    """Both texts have the same length, and are written within a second."""
    copy, test = Scratch(tree, tmp_path / "scratch"), WRONG_TOTAL.tests[0]
    assert copy.run([test]).of(test) == [True]
    with copy.planted(WRONG_TOTAL):
        assert copy.run([test]).of(test) == [False]
    assert copy.run([test]).of(test) == [True]


@pytest.mark.parametrize(
    ("source", "changed"),
    [("a b c", "a X c"), ("a c", None), ("b b", None)],
)
def test_a_mutant_applies_where_its_text_is_exactly_once(source, changed):
    planted = mutant("b", "X").planted_in
    if changed is None:
        with pytest.raises(DoesNotApply):
            planted(source)
    else:
        assert planted(source) == changed


def test_tables_are_read_and_chosen_by_name(tmp_path):
    row = 'effect = "e"\nfile = "f"\ntext = "t"\nreplacement = "r"\ntests = ["x::test_y"]\n'
    (tmp_path / "b.toml").write_text(f"[third]\n{row}")
    (tmp_path / "a.toml").write_text(f"[first]\n{row}\n[second]\n{row}")
    mutants = load(tmp_path)
    assert [each.name for each in mutants] == ["first", "second", "third"]
    assert mutants[0] == Mutant("first", "e", "f", "t", "r", ("x::test_y",))
    assert [each.name for each in matching(mutants, ["f*", "third"])] == ["first", "third"]
    assert matching(mutants, []) == mutants


def test_a_row_with_another_field_is_refused(tmp_path):
    (tmp_path / "a.toml").write_text('[one]\neffect = "e"\nfile = "f"\ntext = "t"\nreplacment = "r"\ntests = []\n')
    with pytest.raises(TypeError, match="replac"):
        load(tmp_path)


def test_a_test_that_is_not_there_is_named(tree):
    named = mutant("a", "b", "test_a_total", "test_ten_are_free[10]", "test_a_tot", "test_other")
    assert [each.partition("::")[2] for each in missing_tests(tree, named)] == ["test_a_tot", "test_other"]


@pytest.mark.usefixtures("remembering")
@pytest.mark.parametrize(("of", "code"), [(0, 0), (4, 1)])
def test_the_command_fails_unless_all_are_caught(of, code, tree, monkeypatch, capsys):
    chosen = CASES[of][0]._replace(name="chosen")
    monkeypatch.setattr(command, "ROOT", tree)
    monkeypatch.setattr(command, "load", lambda _: [chosen])
    monkeypatch.setattr(sys, "argv", ["mutants", "--json", "--only", "chosen"])
    assert command.main() == code
    printed = json.loads(capsys.readouterr().out)
    assert (printed["name"], printed["outcome"]) == ("chosen", CASES[of][1])


def test_a_name_without_a_mutant_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["mutants", "--only", "no such mutant"])
    with pytest.raises(SystemExit):
        command.main()
