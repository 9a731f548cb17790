"""Names use the words of Kafka, Pulsar and Redis: the table in docs/glossary.md lists words that are not used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.tree import ROOT, files, is_generated, shown

CODE = ("app/", "redis_ledger/", "lua/", "tests/", "scripts/", "bench/")
CLASS = re.compile(r"^\s*class (\w+)", re.MULTILINE)
SECTION = "## Words that are not used"
# Names that keep such a word, each with the reason.
DEMO = "the demo counts flights and judges the result, which is its subject"
EXCEPTIONS = {
    "app/tools/demo/tally.py": DEMO,
    "app/tools/demo/tally.py Tally": DEMO,
    "app/tools/demo/tally.py Verdict": DEMO,
    "app/tools/demo_spark/check.py Verdict": DEMO,
    "bench/growth/upkeep.py": "the name of a figure in bench/RESULTS.md",
    "redis_ledger/spark/pipelines/reconcile_facts.py Verdict": "the conclusion of a reconciliation report",
    "tests/unit/demo/test_tally.py": DEMO,
}

# CONTRIBUTING.md, "Language": words that Kafka's, NATS's and SQLite's pages do without.  Spelled in pieces, so
# that this file does not contain them.
DIALECT = re.compile(r"\b(who" r"ever|no" r"body|every" r"body|some" r"body|(?:is|are|was|were) told)\b", re.IGNORECASE)
# Files and folders that may contain them.
EXEMPT = (
    "CHANGELOG.md",  # history
    "CONTRIBUTING.md",  # lists the words
    "bench/RESULTS.md",  # history
    "docs/decisions/",  # history
    "tests/spec/REQUIREMENTS.md",  # the wording of the specification
    "tests/spec/shown.json",
)


def unused_words() -> set[str]:
    section = (ROOT / "docs" / "glossary.md").read_text().partition(SECTION)[2]
    return {word.strip() for word in re.findall(r"^\| ([a-z]+) \|", section, re.M)} - {"word"}


def names(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Returns the name of the file and of each class, and their parts in lower case."""
    yield shown(path), path.stem.lower().split("_")
    if path.suffix == ".py":
        for name in CLASS.findall(path.read_text()):
            parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
            yield f"{shown(path)} {name}", [part.lower() for part in parts]


def test_the_table_has_words():
    assert {"clockwork", "standing", "verdict"} <= unused_words()


def test_names_of_files_and_classes_use_the_words_of_the_field():
    unused = unused_words()
    found = {
        name
        for path in files(".py", ".lua")
        if shown(path).startswith(CODE) and not is_generated(path)
        for name, parts in names(path)
        if not unused.isdisjoint(parts)
    }
    assert found == EXCEPTIONS.keys(), "not a word of the field, or an exception that is not needed"


def test_sentences_are_in_plain_english():
    found = [
        f"{shown(path)}:{number}: {line.strip()[:100]}"
        for path in files(".py", ".lua", ".md")
        if not shown(path).startswith(EXEMPT) and not is_generated(path)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if DIALECT.search(line)
    ]
    assert found == []
