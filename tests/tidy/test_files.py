"""Sizes and words: what a reviewer would otherwise say again and again."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.tidy.tree import files, is_generated, shown, tree_of

LINES_MAX = 400
ME = Path(__file__)

# Spelled in pieces, so that this file does not contain what it looks for.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
OPENS_WITH_TEXT = re.compile(r"(\s*#.*\n|\s*\n)*r?\"\"\"\s*\S")
SILENCED = re.compile(r"#\s*(noqa(?!:)|type:\s*ignore(?!\[))")
ELSEWHERE = re.compile(
    r"/wo" r"rk/|/ro" r"ot/|/ho" r"me/[a-z]|/opt/wh" r"eels|/Us" r"ers/"  # places of one machine
    r"|\.\./sh" r"ared|\b(DES" r"IGN|HOU" r"SE|LAY" r"OUT|BRI" r"EF)\.md|CLARIFI" r"CATIONS"  # notes elsewhere
    r"|pyp" r"i\.org|files\.python" r"hosted|npm" r"js\.org|proxy\.gol" r"ang|--index" r"-url|find-li" r"nks"
)  # fmt: skip


def lines_with(pattern: re.Pattern[str], *suffixes: str) -> list[str]:
    return [
        f"{shown(path)}:{number}: {line.strip()[:100]}"
        for path in files(*suffixes)
        if path != ME
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_module_or_script_is_longer_than_400_lines():
    sizes = {shown(path): len(path.read_text().splitlines()) for path in files(".py", ".lua") if not is_generated(path)}
    assert {name: size for name, size in sizes.items() if size > LINES_MAX} == {}, "usually two nouns in one file"


def test_nothing_is_left_for_later():
    assert lines_with(UNFINISHED) == []


def test_a_silenced_check_names_the_rule_it_silences():
    assert lines_with(SILENCED, ".py", ".pyi") == []


def test_no_file_mentions_a_place_that_only_one_machine_has():
    said = [line for line in lines_with(ELSEWHERE) if not line.startswith("scripts/lock.py:")]
    assert said == []


# Only files with such a line are parsed.
WIDE = re.compile(r"\bexcept\b\s*\*?\s*(:|\(?\s*(Base)?Exception\b)")


def swallows(handler: ast.ExceptHandler) -> bool:
    wide = handler.type is None or (
        isinstance(handler.type, ast.Name) and handler.type.id in ("Exception", "BaseException")
    )
    idle = all(
        isinstance(statement, ast.Pass | ast.Continue)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in handler.body
    )
    return wide and idle


def test_no_error_is_swallowed_whole():
    found = [
        f"{shown(path)}:{node.lineno}"
        for path in files(".py")
        if WIDE.search(path.read_text())
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler) and swallows(node)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("clause", "is_found"),
    [
        ("except: pass", True),
        ("except Exception: pass", True),
        ("except (Exception): 'ignored'", True),
        ("except BaseException as error:\n    pass", True),
        ("except Exception: raise", False),
        ("except ExceptionGroup: pass", False),
        ("except ValueError: pass", False),
    ],
)
def test_the_rule_finds_wide_handlers_that_do_nothing(clause, is_found):
    source = f"try: x()\n{clause}"
    handlers = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ExceptHandler)]
    assert (WIDE.search(source) is not None and swallows(handlers[0])) is is_found


def test_a_test_that_sleeps_says_why():
    found = []
    for path in files(".py"):
        if not shown(path).startswith("tests/") or path == ME:
            continue
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            above = lines[number - 1].strip() if number else ""
            if "time.sleep(" in line and "#" not in line and not above.startswith("#"):
                found.append(f"{shown(path)}:{number + 1}")
    assert found == []


def test_every_module_of_ours_opens_with_its_idea():
    silent = [
        shown(path)
        for path in files(".py")
        if not is_generated(path) and path.name not in ("__init__.py", "conftest.py")
        if not shown(path).startswith(("tests/", "examples/"))
        if (text := path.read_text()).strip() and OPENS_WITH_TEXT.match(text) is None
    ]
    assert silent == []
