"""Property tests draw what the loaded profile says (tests/support/examples.py).

No test sets a number of examples that is the same in all profiles, nor whether examples are random, nor a deadline.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.examples import examples
from tests.tidy.tree import files, shown, tree_of

PROFILES = "tests/support/examples.py"
OF_THE_PROFILE = ("derandomize", "database", "deadline", "print_blob")


def faults(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and argument of each `settings(...)` of Hypothesis that departs from the profile."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "hypothesis"]
    if not any(name.name == "settings" for node in imports for name in node.names):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "settings":
            for each in node.keywords:
                value = ast.unparse(each.value)
                is_wrong = each.arg in OF_THE_PROFILE
                is_wrong |= each.arg == "max_examples" and not value.startswith("examples(")
                is_wrong |= each.arg == "suppress_health_check" and value != "list(HealthCheck)"
                if is_wrong:
                    yield node.lineno, f"{each.arg}={value}"


def test_settings_leave_to_the_profile_what_is_its_own():
    found = [
        f"{shown(path)}:{line} {argument}"
        for path in files(".py")
        if shown(path).startswith("tests/") and shown(path) != PROFILES
        for line, argument in faults(tree_of(path))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("arguments", "is_wrong"),
    [
        ("max_examples=100", True),
        ("few, max_examples=COUNT", True),
        ("max_examples=examples(100)", False),
        ("derandomize=False", True),
        ("database=None", True),
        ("deadline=500", True),
        ("suppress_health_check=[HealthCheck.function_scoped_fixture]", True),
        ("suppress_health_check=list(HealthCheck), phases=[Phase.generate]", False),
    ],
)
def test_the_rule_knows_what_belongs_to_the_profile(arguments, is_wrong):
    text = f"from hypothesis import given, settings\n@settings({arguments})\ndef test(): ...\n"
    assert bool([*faults(ast.parse(text))]) is is_wrong
    assert not [*faults(ast.parse(text.replace("from hypothesis", "from tests.compat")))]


def test_the_fixed_profile_repeats_itself_and_the_random_one_reports_how_to_repeat_it():
    fixed, random = settings.get_profile("fixed"), settings.get_profile("random")
    assert (fixed.derandomize, fixed.database, fixed.max_examples) == (True, None, 33)
    assert (random.derandomize, random.print_blob, random.max_examples) == (False, True, 100)
    for profile in (fixed, random):
        assert profile.deadline is None
        assert HealthCheck.too_slow in profile.suppress_health_check


@pytest.fixture
def load():
    """Loads a profile until the end of the test.  Hypothesis gives a profile such a name for --hypothesis-verbosity."""
    before = settings.get_current_profile_name()
    settings.register_profile("random-with-debug-verbosity", settings.get_profile("random"))
    yield settings.load_profile
    settings.load_profile(before)


@pytest.mark.parametrize(
    ("profile", "count"), [("fixed", 40), ("random", 120), ("random-with-debug-verbosity", 120), ("default", 40)]
)
def test_the_random_profile_draws_three_times_as_many(load, profile, count):
    load(profile)
    assert examples(120) == count
    assert examples(1) == 1
