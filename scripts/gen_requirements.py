"""Requirements and the tests that show them: tests/spec/REQUIREMENTS.md and shown.json, by gen_docs.py.

    tests/spec/requirements.json      what is required, one sentence each          ┐
    def test_...():                                                                ├─▶ tested, replaced or missing
        ids in its docstring or in its name (..._tc_04_...)                        ┘

A test that carries an id performs what its sentence says: without the feature it fails.  An id in a module's docstring
counts for no test.  A replaced requirement stays replaced; the tests that name it show the behaviour that remains, and
there is at least one.  tests/tidy/test_requirements_run.py holds that every test named here is run.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from scripts.markdown import MADE, table

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = ROOT / "tests" / "spec" / "requirements.json"
AREAS = ("TC", "TS", "BW", "TB", "SC", "AK", "CL", "DD", "OB")
ID = re.compile(rf"\b(?:{'|'.join(AREAS)})-\d\d\b")
MENTIONED = re.compile(
    rf"\b(?:{'|'.join(AREAS)})-\d\d\b|_(?i:{'|'.join(AREAS)})_\d\d"
)  # whatever the next one finds, too
ID_IN_NAME = re.compile(rf"(?:(?<=_)|^)({'|'.join(AREAS)})_(\d\d)(?=_|$)", re.IGNORECASE)

Status = Literal["tested", "missing", "replaced"]
MEANING: Mapping[Status, str] = {
    "tested": "a test performs it",
    "replaced": "we do something else on purpose, and a test performs that",
    "missing": "no test performs it, mostly because the thing itself does not exist yet",
}


class Requirement(NamedTuple):
    """priority: M must, S should, C could.  replaced_by: the behaviour that remains, where we decided otherwise.
    missing_because: why there is no test.  At most one of the two is given."""

    id: str
    priority: str
    area: str
    sentence: str
    replaced_by: str = ""
    missing_because: str = ""


class Shown(NamedTuple):
    """tests: `tests/unit/test_x.py::test_y`, sorted."""

    required: Requirement
    status: Status
    tests: list[str]
    reason: str


@cache
def catalogue() -> tuple[Requirement, ...]:
    return tuple(Requirement(**row) for row in json.loads(CATALOGUE.read_text()))


def collected(module: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The tests that pytest collects, by their names."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and member.name.startswith("test_"):
                    yield f"{node.name}::{member.name}", member


def named(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The requirement ids in the docstring and name of a test."""
    in_name = {f"{area.upper()}-{number}" for area, number in ID_IN_NAME.findall(function.name)}
    return in_name | set(ID.findall(ast.get_docstring(function) or ""))


def tests_by_id(found_in: Iterable[tuple[str, ast.Module]]) -> dict[str, list[str]]:
    """found_in: path as shown, and its tree.  Id → tests."""
    found: dict[str, list[str]] = {}
    for path, module in found_in:
        for name, function in collected(module):
            for requirement in named(function):
                found.setdefault(requirement, []).append(f"{path}::{name}")
    return {requirement: sorted(tests) for requirement, tests in found.items()}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """The test modules in which an id occurs: path as shown, and tree."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        if MENTIONED.search(text):
            yield path.relative_to(ROOT).as_posix(), ast.parse(text, filename=str(path))


@cache
def tests_of_the_tree() -> Mapping[str, list[str]]:
    return tests_by_id(modules())


def judge(required: Requirement, tests: list[str]) -> Shown:
    if required.replaced_by:
        return Shown(required, "replaced", tests, required.replaced_by)
    if tests:
        return Shown(required, "tested", tests, "")
    return Shown(required, "missing", [], required.missing_because)


def shown() -> list[Shown]:
    tests = tests_of_the_tree()
    return [judge(required, tests.get(required.id, [])) for required in catalogue()]


def document(every: Iterable[Shown]) -> str:
    """JSON with one requirement per line."""
    rows = [
        {"id": s.required.id, "priority": s.required.priority, "status": s.status, "tests": s.tests, "reason": s.reason}
        for s in every
    ]
    return "[\n" + ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def row(each: Shown) -> tuple[str, ...]:
    tests = [f"`{name.removeprefix('tests/')}`" for name in each.tests]
    status = {"tested": "tested", "replaced": "replaced", "missing": "**missing**"}[each.status]
    sentence = each.required.sentence + (f" *Instead:* {each.reason}" if each.status == "replaced" else "")
    last = each.reason if each.status == "missing" else "<br>".join(tests)
    return each.required.id, each.required.priority, sentence, status, last


def summary(area: str, every: list[Shown]) -> tuple[str, ...]:
    count = Counter(each.status for each in every)
    must = [each for each in every if each.status == "missing" and each.required.priority == "M"]
    counted = (len(every), count["tested"], count["replaced"], count["missing"], len(must))
    return area, *map(str, counted)


def page(every: list[Shown]) -> str:
    areas = list(dict.fromkeys(each.required.area for each in every))
    by_area = {area: [each for each in every if each.required.area == area] for area in areas}
    head = ("area", "requirements", "tested", "replaced", "missing", "of them must")
    parts = [
        "# Requirements\n",
        MADE.format(source="tests/spec/requirements.json and the tests"),
        "What the sources ask for (PIP-31, PIP-160, PIP-195, the transaction buffer RFC, and what users of Pulsar and\n"
        "Kafka reported), in our words, and the tests that show it. **M** must, **S** should, **C** could.\n",
        "\n".join(f"- *{status}*: {meaning}" for status, meaning in MEANING.items()) + "\n",
        table(head, [*(summary(area, by_area[area]) for area in areas), summary("all", every)]),
    ]
    for area in areas:
        parts.append(f"## {area[:1].upper()}{area[1:]}\n")
        parts.append(table(("id", "priority", "sentence", "status", "tests"), map(row, by_area[area])))
    return "\n".join(parts)


def pages() -> dict[Path, str]:
    """File → expected content."""
    every, folder = shown(), CATALOGUE.parent
    return {folder / "REQUIREMENTS.md": page(every), folder / "shown.json": document(every)}
