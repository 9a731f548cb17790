"""The Makefile stays short, and the targets and steps that code and documentation mention exist."""

from __future__ import annotations

import re
from itertools import chain

from scripts import steps
from tests.tidy.tree import ROOT, files, is_generated, shown

TARGETS_MAX = 18
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.findall(r"^([a-z][a-z-]*):.*## ", MAKEFILE, re.M)
STEPS = steps.STEPS.keys() | steps.PLANS.keys()
# The changelog describes earlier releases.
PAGES = [path for path in files(".md", ".py", ".toml") if path.name != "CHANGELOG.md" and not is_generated(path)]


def test_the_makefile_has_few_targets_and_help_lists_all_of_them():
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.M)
    assert phony is not None
    assert phony[1].split() == TARGETS
    assert len(TARGETS) <= TARGETS_MAX


def mentions(pattern: str) -> list[tuple[str, str]]:
    """Returns the page and name of everything that the pattern's group matches."""
    found = ((shown(page), re.findall(pattern, page.read_text())) for page in PAGES)
    return list(chain.from_iterable(((page, name) for name in names) for page, names in found))


def test_mentioned_targets_exist():
    mentioned = mentions(r"`(?:[A-Z_]+=\S+ )?make ([a-z-]+)`")
    assert mentioned
    assert "\nbench-%:" in MAKEFILE  # every bench among the steps is a target
    targets = {*TARGETS, *(step for step in STEPS if step.startswith("bench-"))}
    assert [each for each in mentioned if each[1] not in targets] == []


def test_mentioned_steps_exist():
    mentioned = mentions(r"(?:`|/python )scripts/check\.py ([a-z][a-z-]*[a-z])\b")
    assert mentioned
    assert [each for each in mentioned if each[1] not in STEPS] == []
