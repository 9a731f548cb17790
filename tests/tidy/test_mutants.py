"""The tables of tests/mutants fit the code: a change of a line that a mutant replaces changes its row as well.

So do the bugs that the simulation plants in scripts.
"""

from __future__ import annotations

import ast
import re
from functools import partial

import pytest

from redis_ledger.store.scripts import folder, read
from tests.mutants.table import DoesNotApply, Mutant, load, missing_tests
from tests.sim import planted
from tests.tidy.tree import ROOT

MUTANTS = load(ROOT / "tests" / "mutants")


def test_names_are_used_once():
    names = [each.name for each in MUTANTS]
    assert sorted(set(names)) == sorted(names)
    assert [name for name in names if not re.fullmatch(r"[a-z0-9_]+", name)] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_every_mutant_applies_and_its_tests_are_there(mutant: Mutant):
    try:
        changed = mutant.planted_in((ROOT / mutant.file).read_text())
    except DoesNotApply as error:
        pytest.fail(str(error))
    if mutant.file.endswith(".py"):
        ast.parse(changed)
    assert mutant.tests
    assert missing_tests(ROOT, mutant) == []
    assert re.fullmatch(r"\w.+\.", mutant.effect), "the effect is a sentence"


@pytest.mark.parametrize("name", planted.BUGS)
def test_every_bug_that_the_simulation_plants_in_a_script_applies(name):
    plant = planted.BUGS[name].plant
    if isinstance(plant, partial):
        script, text, instead = plant.args
        assert read(folder())[script].count(text) == 1
        assert text != instead
