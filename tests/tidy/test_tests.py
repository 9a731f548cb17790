"""Every test can fail: it asserts, expects an exception, or calls a helper whose name says that it does."""

from __future__ import annotations

import ast
import re

import pytest

from tests.tidy.tree import files, shown, tree_of

CHECKING = re.compile(r"(assert|check|expect|verify|raises|fail|refuse|prove)", re.IGNORECASE)


def name_called(call: ast.Call) -> str:
    target = call.func
    return target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""


def can_fail(function: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and CHECKING.search(name_called(node)) is not None)
        for node in ast.walk(function)
    )


def test_every_test_asserts_something():
    idle = [
        f"{shown(path)}:{node.lineno} {node.name}"
        for path in files(".py")
        if shown(path).startswith("tests/")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        if not can_fail(node)
    ]
    assert idle == []


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("assert x == 1", True),
        ("with pytest.raises(KeyError): x[1]", True),
        ("expect_same(a, b)", True),
        ("run(x)", False),
        ("pass", False),
    ],
)
def test_the_rule_tells_tests_that_can_fail_from_those_that_cannot(body, verdict):
    assert can_fail(ast.parse(body)) is verdict
