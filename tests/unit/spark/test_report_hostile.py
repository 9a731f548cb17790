"""Contents of records, names and errors are escaped in the report of a reconciliation, on the page and on a
terminal."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from redis_ledger.spark.pipelines.reconcile_bins import Bins, Cells
from redis_ledger.spark.pipelines.reconcile_facts import Check, Hole, Matched, PartitionFacts, SideFacts, Verdict
from redis_ledger.spark.pipelines.reconcile_result import Reconciliation
from redis_ledger.spark.pipelines.reconcile_samples import Sample, Samples
from redis_ledger.spark.pipelines.report import page, text
from tests.support.html_injection import TEXTS, Seen

AT_MS = 1_000_000_000_000


def outcome(word: str) -> Reconciliation:
    """A report with the hostile text wherever it shows foreign text."""
    facts = PartitionFacts(0, 9, 900, 7, first=0, end=10, holes=1, start=0, stable=10, log_end=10)
    a = SideFacts("A", f"topic {word}", (facts,), has_offsets=True)
    b = SideFacts("B", f"parquet {word}", (facts._replace(checksum=8),), has_offsets=True, holes=[Hole(0, 3, 5)])
    samples = [Sample("A", 0, 3, AT_MS, word, word), Sample("B", None, None, None, word, f'{{"name": "{word}"}}')]
    return Reconciliation(
        Verdict(f"Not the same: {word}.", [word] * 4, [word]), a, b, Matched(missing=1, distinct_a=9, distinct_b=8),
        [Check(f"unique {word}", word, word, False)], [Samples("missing", f"Missing {word}", 2, samples)],
        Bins(AT_MS, 60_000, [9, 0], [8, 0]), [Cells(0, 0, 10, 1, [1] * 10, [1] * 3 + [0] + [1] * 6)],
        [("key", word), (word, "yes")], datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip


@pytest.mark.parametrize("word", TEXTS)
def test_no_text_becomes_a_part_of_the_page(word: str) -> None:
    harmless, made = Seen(page.render(outcome("word"))), Seen(page.render(outcome(word)))
    assert made.shape == harmless.shape
    assert made.addresses == []


@pytest.mark.parametrize("word", TEXTS)
def test_a_terminal_is_sent_no_control_characters_but_ends_of_lines(word: str) -> None:
    made = text.render(outcome(f"{word}\x1b]0;title\x07\x9b2J\u202e\r"), f"{word}\x1b.html")
    assert [each for each in made.replace("\n", "") if not each.isprintable()] == []
    assert "\\x1b]0;title\\x07\\x9b2J\\u202e" in made
