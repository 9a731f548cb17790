"""The catalogue of requirements is whole, and what tests say about it can be believed."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from scripts import gen_requirements
from scripts.gen_requirements import ID, Requirement, catalogue, judge
from tests.tidy.tree import ROOT, files, shown, tree_of

ME = Path(__file__)
# Written out, so that a requirement cannot disappear without a change here.
NUMBERS = {
    "TC": range(1, 21),
    "TS": range(1, 26),
    "BW": range(1, 24),
    "TB": range(1, 41),
    "SC": range(1, 24),
    "AK": range(1, 33),
    "CL": range(1, 23),
    "DD": (*range(1, 18), *range(20, 40), *range(50, 65)),
    "OB": (*range(1, 15), *range(20, 31)),
}
TOTAL = 262
PRIORITIES = {"M": 208, "S": 53, "C": 1}
REPLACED = 69
LIKE_AN_ID = re.compile(rf"(?<![\w-])(?:{'|'.join(NUMBERS)})[-_ ]?\d+\w*", re.ASCII)


def test_the_catalogue_has_every_requirement_of_every_area_in_order():
    expected = [f"{area}-{number:02}" for area, numbers in NUMBERS.items() for number in numbers]
    assert [required.id for required in catalogue()] == expected
    assert len(expected) == TOTAL


def test_no_requirement_is_listed_twice():
    twice = [name for name, count in Counter(required.id for required in catalogue()).items() if count > 1]
    assert twice == []


def test_every_requirement_has_its_priority_and_one_area_for_its_letters():
    assert Counter(required.priority for required in catalogue()) == PRIORITIES
    areas = {(required.id[:2], required.area) for required in catalogue()}
    assert [letters for letters, _ in sorted(areas)] == sorted(NUMBERS)


def test_every_requirement_is_said_in_one_short_sentence_of_its_own():
    sentences = [required.sentence for required in catalogue()]
    assert [text for text in sentences if not text.endswith(".") or "\n" in text or len(text) > 160] == []
    assert len(set(sentences)) == TOTAL


def test_what_is_replaced_says_what_remains_and_has_a_test_of_it():
    replaced = [each for each in gen_requirements.shown() if each.required.replaced_by]
    assert len(replaced) == REPLACED
    assert [each.required.id for each in replaced if each.reason == each.required.sentence] == []
    assert [each.required.id for each in replaced if not each.tests] == []


def test_no_requirement_is_both_replaced_and_missing():
    assert [required.id for required in catalogue() if required.replaced_by and required.missing_because] == []


def test_every_requirement_that_is_named_anywhere_exists():
    known = {required.id for required in catalogue()}
    strange = [
        f"{shown(path)}: {name}"
        for path in files(".py", ".lua", ".md", ".proto")
        if path != ME
        for name in ID.findall(path.read_text())
        if name not in known
    ]
    assert strange == []


def test_a_requirement_is_named_in_one_way_only():
    """Two letters, a dash, two digits: what is spelled otherwise would count for no test."""
    misspelt = [
        f"{shown(path)}: {name}"
        for path in files(".py")
        if shown(path).startswith("tests/") and path != ME
        if any(not ID.fullmatch(name) for name in LIKE_AN_ID.findall(path.read_text()))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for name in LIKE_AN_ID.findall(ast.get_docstring(node) or "")
        if not ID.fullmatch(name)
    ]
    assert misspelt == []


def test_every_requirement_has_a_status_and_every_one_without_a_test_a_reason():
    rows = json.loads((ROOT / "tests" / "spec" / "shown.json").read_text())
    assert [row["id"] for row in rows] == [required.id for required in catalogue()]
    assert {row["status"] for row in rows} <= {"tested", "missing", "replaced"}
    assert [row["id"] for row in rows if (row["status"] == "tested") is not (row["reason"] == "")] == []
    assert [row["id"] for row in rows if (row["status"] == "missing") is not (row["tests"] == [])] == []


def test_what_is_said_to_be_missing_is_named_by_no_test():
    """Either the catalogue is behind, and its `missing_because` goes, or the test claims what it does not do."""
    disputed = {
        each.required.id: each.tests
        for each in gen_requirements.shown()
        if each.tests and each.required.missing_because
    }
    assert disputed == {}


@pytest.mark.parametrize(
    ("source", "tests"),
    [
        ("def test_x():\n    '''TC-04'''", ["t.py::test_x"]),
        ("async def test_x():\n    '''TC-03, TC-04: both.'''", ["t.py::test_x"]),
        ("def test_tc_04_holds(): ...", ["t.py::test_tc_04_holds"]),
        ("class TestX:\n    def test_y(self):\n        '''TC-04'''", ["t.py::TestX::test_y"]),
        ("'''TC-04'''\ndef test_x(): ...", []),
        ("class TestX:\n    '''TC-04'''\n    def test_y(self): ...", []),
        ("def helper():\n    '''TC-04'''", []),
        ("def test_x():\n    # TC-04\n    return 'TC-04'", []),
        ("def test_x():\n    '''XTC-04, TC-041'''", []),
        ("def test_etc_04(): ...", []),
    ],
)
def test_a_requirement_counts_for_the_test_that_names_it_and_for_nothing_else(source, tests):
    assert gen_requirements.tests_by_id([("t.py", ast.parse(source))]).get("TC-04", []) == tests


@pytest.mark.parametrize(
    ("required", "tests", "status", "reason"),
    [
        (Requirement("TC-01", "M", "a", "S."), ["t"], "tested", ""),
        (Requirement("TC-01", "M", "a", "S."), [], "missing", ""),
        (Requirement("TC-01", "M", "a", "S.", missing_because="Why."), [], "missing", "Why."),
        (Requirement("TC-01", "M", "a", "S.", missing_because="Why."), ["t"], "tested", ""),
        (Requirement("TC-01", "M", "a", "S.", "Else."), ["t"], "replaced", "Else."),
    ],
)
def test_a_status_follows_from_the_catalogue_and_the_tests(required, tests, status, reason):
    assert judge(required, tests) == gen_requirements.Shown(required, status, tests, reason)
