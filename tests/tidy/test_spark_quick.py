"""The part of Spark's tests that `make test` runs is there."""

from __future__ import annotations

import ast

from tests.spark.quick import QUICK, is_quick
from tests.tidy.tree import ROOT, tree_of

FOLDER = ROOT / "tests" / "spark"


def test_every_quick_test_that_is_named_is_there():
    there = {
        path.name: {node.name for node in tree_of(path).body if isinstance(node, ast.FunctionDef)}
        for path in FOLDER.glob("test_*.py")
    }
    assert [name for name in QUICK if name not in there] == []
    assert [(name, test) for name, tests in QUICK.items() for test in tests if test not in there[name]] == []


def test_a_file_that_is_not_named_is_slow_as_a_whole_and_one_that_marks_its_own_is_not():
    assert is_quick("test_batch.py", "test_anything")
    assert is_quick("test_guide.py", "test_the_python_of_the_guide_prints_the_output_on_the_page")
    assert not is_quick("test_guide.py", "test_anything")
    assert not is_quick("test_wheel.py", "test_anything")
