"""Names use the words of Kafka, Pulsar and Redis: the table in docs/glossary.md lists words that are not used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.tree import ROOT, files, is_generated, shown, tree_of

CODE = ("app/", "redis_ledger/", "lua/", "tests/", "scripts/", "bench/")
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

# Spelled in pieces, so that this file does not contain the words.
PERSONS = re.compile(r"\b(who" r"ever|no" r"body|every" r"body)\b", re.IGNORECASE)
# Folders and files whose code and text are free of them.
CLEAN = (
    "app/console/",
    "bench/delay/",
    "bench/growth/",
    "bench/spark/",
    "docs/architecture.md",
    "docs/explanation/",
    "docs/tutorial.md",
    "lua/",
    "redis_ledger/auth/",
    "redis_ledger/broker/",
    "redis_ledger/client/",
    "redis_ledger/cursor/",
    "redis_ledger/decoding/",
    "redis_ledger/delay/",
    "redis_ledger/errors/",
    "redis_ledger/groups/",
    "redis_ledger/kafka/",
    "redis_ledger/ledger/",
    "redis_ledger/records/",
    "redis_ledger/store/",
    "redis_ledger/txn/",
    "scripts/",
    "tests/attack/",
    "tests/crash/",
    "tests/fuzz/",
    "tests/integration/",
    "tests/lua/",
    "tests/property/",
    "tests/spec/",
    "tests/support/",
    "tests/unit/auth/",
    "tests/unit/bench/",
    "tests/unit/broker/",
    "tests/unit/client/",
    "tests/unit/cursor/",
    "tests/unit/delay/",
    "tests/unit/kafka/",
    "tests/unit/ledger/",
    "tests/unit/records/",
    "tests/unit/scripts/",
    "tests/unit/store/",
    "tests/unit/support/",
    "tests/unit/telemetry/",
    "tests/unit/txn/",
)


def unused_words() -> set[str]:
    section = (ROOT / "docs" / "glossary.md").read_text().partition(SECTION)[2]
    return {word.strip() for word in re.findall(r"^\| ([a-z]+) \|", section, re.M)} - {"word"}


def names(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Returns the name of the file and of each class, and their parts in lower case."""
    yield shown(path), path.stem.lower().split("_")
    if path.suffix == ".py":
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", node.name)
                yield f"{shown(path)} {node.name}", [part.lower() for part in parts]


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


def test_sentences_name_their_subject():
    found = [
        f"{shown(path)}:{number}: {line.strip()[:100]}"
        for path in files(".py", ".lua", ".md")
        if shown(path).startswith(CLEAN) and not is_generated(path)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PERSONS.search(line)
    ]
    assert found == []
