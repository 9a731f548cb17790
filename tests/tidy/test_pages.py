"""Every program and command of the README, the tutorial and the how-to pages is run by a test, or says why it is not.

    <!-- run by tests/integration/test_page_commands.py -->     above a block: that test runs it, and names the page
    <!-- not run: needs Kubernetes -->                          above a block: why nothing runs it

Blocks of `python`, and of `sh` with curl calls, need no comment on the pages that test_readme.py lists.
"""

from __future__ import annotations

import re

import pytest
import yaml

from tests.integration.test_readme import HOWTO, README, TUTORIAL, WITH_CURL, WITH_PYTHON
from tests.support.doc_pages import Block, noted_blocks
from tests.tidy.tree import ROOT, shown

PAGES = [README, TUTORIAL, *sorted(HOWTO.glob("*.md"))]
SHOWN = {"text", "json", "yaml", "ini", "properties", "dockerfile"}  # output and files, not programs


def fault(block: Block, page: str, is_listed: bool) -> str:
    """What is wrong with a block, or "".  is_listed: test_readme runs blocks of this language on this page."""
    if block.language in SHOWN:
        return ""
    if block.language not in ("python", "sh", "bash"):
        return f"has the language {block.language!r}; use one of python, sh, bash, {', '.join(sorted(SHOWN))}"
    reason = re.fullmatch(r"not run: \w.{5,}", block.note)
    runner = re.fullmatch(r"run by (tests/[\w/]+\.py)", block.note)
    if runner:
        test = ROOT / runner[1]
        return "" if test.exists() and page in test.read_text() else f"names {runner[1]}, which does not run {page}"
    return "" if is_listed or reason else "is run by no test and says no reason"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_run_or_says_why_not(page):
    listed = {"python": WITH_PYTHON, "sh": WITH_CURL}
    faults = [
        f"{shown(page)}: the block {block.text.splitlines()[0]!r} {wrong}"
        for block in noted_blocks(page)
        if (wrong := fault(block, page.stem, page in listed.get(block.language, [])))
    ]
    assert faults == []


@pytest.mark.parametrize(
    ("block", "is_listed", "is_right"),
    [
        (Block("python", "print()\n", ""), True, True),
        (Block("python", "print()\n", ""), False, False),
        (Block("sh", "ls\n", "not run: needs Kubernetes"), False, True),
        (Block("sh", "ls\n", "not run:"), False, False),
        (Block("sh", "ls\n", "run by tests/integration/test_page_commands.py"), False, True),
        (Block("sh", "ls\n", "run by tests/integration/test_absent.py"), False, False),
        (Block("sh", "ls\n", "run by tests/integration/test_sdk.py"), False, False),
        (Block("", "ls\n", ""), False, False),
        (Block("text", "ready\n", ""), False, True),
    ],
)
def test_a_block_that_nothing_runs_is_noticed(block, is_listed, is_right):
    assert (fault(block, "secure", is_listed) == "") is is_right


def test_every_page_has_a_place_in_the_navigation_of_the_site():
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    placed = {page for page in leaves(config["nav"]) if (ROOT / "docs" / page).exists()}
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages - placed if not re.match(r"decisions/\d", page)} == set(), (
        "add it to nav in mkdocs.yml"
    )


def leaves(nav: list[object]) -> list[str]:
    """The pages of a navigation, whose entries are {title: page} and {title: [entry, ...]}."""
    found = []
    for entry in nav:
        assert isinstance(entry, dict)
        for value in entry.values():
            found += [value] if isinstance(value, str) else leaves(value)
    return found
