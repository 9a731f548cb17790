"""Findings of a reconciliation: sentences, terminal output and the page."""

from __future__ import annotations

import argparse
import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest

from redis_ledger.errors import InvalidRequest
from redis_ledger.spark.pipelines import reconcile
from redis_ledger.spark.pipelines import reconcile_expected as expectations
from redis_ledger.spark.pipelines.reconcile_bins import BINS_MAX, Bins, Cells, width_ms
from redis_ledger.spark.pipelines.reconcile_counts import overlap
from redis_ledger.spark.pipelines.reconcile_facts import (
    Check,
    Demands,
    Hole,
    Matched,
    PartitionFacts,
    SideFacts,
    Verdict,
    alone,
    of_expectations,
    of_two,
)
from redis_ledger.spark.pipelines.reconcile_result import Reconciliation
from redis_ledger.spark.pipelines.reconcile_rows import contents_of, sql
from redis_ledger.spark.pipelines.reconcile_samples import Sample, Samples
from redis_ledger.spark.pipelines.reconcile_sides import Side, side
from redis_ledger.spark.pipelines.report import charts, page, text

PLAIN = Demands()
LATER_MS = 1_000_000_000_000


def facts(partition: int = 0, records: int = 10, **more: Any) -> PartitionFacts:
    return PartitionFacts(partition, records, records * 100, more.pop("checksum", 77), **more)


def a_side(letter: str = "A", *partitions: PartitionFacts, name: str = "topic orders", **more: Any) -> SideFacts:
    return SideFacts(letter, name, partitions or (facts(),), **more)


# -- sentences ---------------------------------------------------------------------------------------------------------


def test_sides_without_a_difference_are_the_same() -> None:
    verdict = of_two(a_side("A"), a_side("B"), Matched(distinct_a=10, distinct_b=10), PLAIN)
    assert verdict == Verdict("The same: 10 records on both sides.")
    assert verdict.is_same


@pytest.mark.parametrize(
    ("matched", "wrong"),
    [
        (Matched(missing=37), "37 records are missing in B"),
        (Matched(missing=1), "1 record is missing in B"),
        (Matched(extra=1_234), "1,234 records are only in B"),
        (Matched(more=2), "2 records are once too often in B"),
        (Matched(fewer=1), "1 record is in A more often than in B"),
        (Matched(differing=3), "3 records have other contents in B"),
    ],
)
def test_each_kind_of_difference_has_its_sentence(matched: Matched, wrong: str) -> None:
    verdict = of_two(a_side("A"), a_side("B"), matched, PLAIN)
    assert (verdict.is_same, verdict.headline) == (False, f"Not the same: {wrong}.")


def test_a_headline_names_three_differences_and_counts_the_others() -> None:
    verdict = of_two(a_side("A"), a_side("B"), Matched(1, 1, 1, 1, 1), PLAIN)
    assert verdict.headline.endswith("1 record is once too often in B, and 2 more differences.")
    assert len(verdict.wrong) == 5


def test_checksums_that_differ_where_nothing_else_does_are_a_difference() -> None:
    verdict = of_two(a_side("A"), a_side("B", facts(checksum=78)), Matched(), PLAIN)
    assert verdict.wrong == ["the checksums differ, 000000000000004d and 000000000000004e"]


def test_a_checksum_does_not_depend_on_how_records_lie_in_partitions() -> None:
    apart = a_side("A", facts(0, checksum=(1 << 64) - 5), facts(1, checksum=12))
    assert apart.checksum == a_side("B", facts(0, checksum=7)).checksum == f"{7:016x}"


def test_gaps_and_what_is_undecided_are_notes_and_no_difference() -> None:
    a = a_side("A", facts(start=0, stable=15, log_end=18, first=1, end=14, holes=3))
    b = a_side("B", facts(first=1, end=14, holes=3), name="Parquet x")
    verdict = of_two(a, b, Matched(), PLAIN)
    assert verdict.is_same
    assert verdict.notes == [
        "A: offsets without a record: 5 (markers, aborted or compacted records).",
        "A: 3 offsets lie behind an open transaction and could not be compared yet.",
        "B: offsets without a record: 3 (markers, aborted or compacted, or lost).",
    ]


def test_disorder_is_wrong_only_when_order_was_asked_for() -> None:
    both = a_side("A", facts(unordered=2)), a_side("B", facts(unordered=0))
    assert of_two(*both, Matched(), PLAIN).is_same
    verdict = of_two(*both, Matched(), Demands("sent", "key"))
    assert verdict.wrong == ["2 records are out of order in A (by sent within each key)"]
    assert alone(both[0], Demands("sent")).headline.startswith("A is not sound: 2 records are out of order")


def test_duplicates_on_both_sides_are_wrong_when_records_have_to_be_unique() -> None:
    matched = Matched(duplicates_a=1, duplicates_b=1)
    assert of_two(a_side("A"), a_side("B"), matched, PLAIN).notes == ["1 record is a duplicate, in A as in B."]
    verdict = of_two(a_side("A"), a_side("B"), matched, Demands(is_unique=True))
    assert verdict.wrong == ["1 record is a duplicate in A", "1 record is a duplicate in B"]


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_a_side_says_its_kind_and_place() -> None:
    assert side("topic:orders") == Side("topic", "orders")
    assert side("parquet:s3a://bucket/x").name == "Parquet s3a://bucket/x"
    for text_ in ("orders", "topic:", "table:orders", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="topic:NAME"):
            side(text_)


def test_contents_are_key_and_value_or_else_what_both_have() -> None:
    topic = ["key", "value", "topic", "partition", "offset", "timestamp"]
    assert contents_of([topic, topic]) == "`key`, `value`"
    assert contents_of([topic, ["value", "flight"]]) == "`value`"
    assert contents_of([["b", "a", "offset"], ["a", "offset", "b", "c"]]) == "`a`, `b`"
    with pytest.raises(InvalidRequest, match="no common column"):
        contents_of([["offset", "a"], ["offset", "b"]])


def test_a_path_stands_for_a_member_of_the_value() -> None:
    assert sql("upper($.from.code), key") == "upper(get_json_object(cast(value as string), '$.from.code')), key"
    assert sql("price > 3") == "price > 3"


def test_overlap_is_where_both_sides_are() -> None:
    a = [facts(0, start=5, stable=50, first=7, end=49), facts(1, first=0, end=3)]
    b = [facts(0, first=0, end=30), facts(2, first=0, end=9)]
    assert overlap(a, b) == {0: (5, 30)}


# -- expectations ------------------------------------------------------------------------------------------------------


def test_expectations_are_read_and_what_is_not_one_is_refused(tmp_path) -> None:
    file = tmp_path / "e.json"
    file.write_text('{"count": 3, "offsets": {"0": [1, 4]}}')
    assert expectations.read(str(file)) == expectations.Expected(count=3, offsets={"0": (1, 4)})
    for wrong, output in (
        ('{"counts": 3}', "counts"),
        ("[]", "is not a file of expectations"),
        ("{}", "has no expectation"),
    ):
        file.write_text(wrong)
        with pytest.raises(InvalidRequest, match=output):
            expectations.read(str(file))


def test_facts_that_are_written_down_are_what_is_expected(tmp_path) -> None:
    found = a_side("A", facts(0, 3, first=1, end=9), facts(1, 0))
    expectations.write(str(tmp_path / "e.json"), expectations.of_side(found))
    expected = expectations.read(str(tmp_path / "e.json"))
    checks = expectations.counted(expected, found)
    assert [check.name for check in checks if check.holds] == [check.name for check in checks]
    less = a_side("A", facts(0, 2, first=1, end=8, checksum=5), facts(1, 1, first=0, end=1))
    verdict = of_expectations(less, expectations.counted(expected, less), PLAIN)
    assert verdict.wrong == [
        "records of partition 0 should be 3 and is 2",
        "records of partition 1 should be 0 and is 1",
        "offsets of partition 0 should be 1 to 9 and is 1 to 8",
        "offsets of partition 1 should be none and is 0 to 1",
        f"the checksum should be {154:016x} and is {82:016x}",
    ]


# -- charts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span_ms", "wide_ms"), [(0, 1), (79, 1), (80, 2), (60_000, 1000), (90 * 86_400_000, 172_800_000), (10**13, None)]
)
def test_bins_are_as_wide_as_people_count_and_not_too_many(span_ms: int, wide_ms: int | None) -> None:
    wide = width_ms(LATER_MS, LATER_MS + span_ms)
    assert wide == wide_ms or wide_ms is None
    assert span_ms // wide + 1 <= BINS_MAX + 1


def test_bars_that_differ_are_marked() -> None:
    chart = charts.through_time(Bins(LATER_MS, 60_000, [4, 2, 0], [4, 1, 0]), letters="AB")
    styles = [shape.style for shape in chart.shapes]
    assert styles == ["a", "b", "a off", "b off", "mark"]
    assert {shape.said for shape in chart.shapes if "off" in shape.style} == {"2001-09-09 01:47:40: A 2, B 1"}


@pytest.mark.parametrize("letter", ["A", "B"])
def test_a_side_that_knows_times_when_the_other_does_not_is_drawn_alone(letter: str) -> None:
    counts = {"a": [0, 0], "b": [0, 0], letter.lower(): [4, 2]}
    chart = charts.through_time(Bins(LATER_MS, 60_000, counts["a"], counts["b"]), letters=letter)
    assert [(shape.style, shape.y, shape.height) for shape in chart.shapes] == [
        (letter.lower(), 0, 100), (letter.lower(), 50, 50),
    ]  # fmt: skip
    assert chart.shapes[0].said == f"2001-09-09 01:46:40: {letter} 4"


def test_a_strip_shows_how_full_the_offsets_are_and_what_is_missing() -> None:
    cells = Cells(0, 0, 40, 10, [10, 10, 3, 0], [10, 4, 3, 0])
    one, other = charts.along_offsets(cells, letters="AB", is_same_log=True).rows
    assert [(shape.x, shape.width, shape.style) for shape in one[1].shapes] == [(0, 2, "a l4"), (2, 1, "a l1")]
    assert [(shape.x, shape.width, shape.style) for shape in other[1].shapes] == [
        (0, 1, "b l4"), (1, 1, "off"), (2, 1, "b l1"),
    ]  # fmt: skip
    assert not any(
        "off" in shape.style for shape in charts.along_offsets(cells, letters="AB", is_same_log=False).rows[1][1].shapes
    )


@pytest.mark.parametrize(
    ("ms", "shown"),
    [(0, "1970-01-01 00:00:00"), (1_500, "1970-01-01 00:00:01.500"), (10**18, "1000000000000000000 ms")],
)
def test_a_moment_is_shown_in_utc(ms: int, shown: str) -> None:
    assert charts.moment(ms) == shown


# -- the report --------------------------------------------------------------------------------------------------------


def an_outcome(**more: Any) -> Reconciliation:
    a = a_side("A", facts(0, 9, first=0, end=10, holes=1, start=0, stable=10, log_end=10), has_offsets=True)
    b = a_side(
        "B",
        facts(0, 8, first=0, end=10, holes=2, checksum=1),
        name="Parquet <x>",
        has_offsets=True,
        holes=[Hole(0, 3, 5)],
    )
    shown = Samples("missing", "Missing in B", 1, [Sample("A", 0, 3, LATER_MS, "k", '{"name": "<b>&"}')])
    found = Matched(missing=1, distinct_a=9, distinct_b=8)
    made = {
        "verdict": of_two(a, b, found, PLAIN), "a": a, "b": b, "matched": found, "samples": [shown],
        "through_time": Bins(LATER_MS, 60_000, [9, 0], [8, 0]),
        "along_offsets": [Cells(0, 0, 10, 1, [1] * 10, [1] * 3 + [0] + [1] * 6)],
        "asked": [("key", "offset")], "began": datetime(2026, 1, 1, tzinfo=UTC),
    }  # fmt: skip
    return Reconciliation(**{**made, **more})


class Tags(HTMLParser):
    """Collects open tags and nesting errors."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"b": None, "matched": None, "samples": []},
        {"b": None, "matched": None, "samples": [], "through_time": None, "along_offsets": [],
         "a": a_side("A", facts(-1)), "checks": [Check("unique x", "none", "2 duplicates", False)]},
    ],
)  # fmt: skip
def test_a_page_is_sound_html_of_its_own_whatever_there_is_to_say(more: dict[str, Any]) -> None:
    made = page.render(an_outcome(**more))
    tags = Tags()
    tags.feed(made)
    assert (tags.open, tags.wrong) == ([], [])
    assert re.findall(r"<(?:script|link|img|iframe)|https?:|url\(|@import", made) == []
    assert made.count("prefers-color-scheme: dark") == 1


def test_a_page_says_what_was_found_and_lets_no_record_write_in_it() -> None:
    made = page.render(an_outcome())
    tags = Tags()
    tags.feed(made)
    said = " ".join(" ".join(tags.texts).split())
    assert "Not the same: 1 record is missing in B." in said
    assert '{"name": "<b>&"}' in said
    assert "Missing in B: 1" in said
    assert "Parquet <x>" in said
    assert "<b>" not in made


def test_a_terminal_is_told_the_same_in_short() -> None:
    lines = text.render(an_outcome(), "r.html").splitlines()
    assert lines[0] == "Not the same: 1 record is missing in B."
    assert ["records", "9", "8"] in [line.split() for line in lines]
    assert "  Missing in B:" in lines
    assert lines[-1] == "  report: r.html"


def test_a_call_that_names_no_second_side_is_refused(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        reconcile.main(["--left", "topic:orders"])
    assert ended.value.code == reconcile.FAILED
    assert "give --right" in capsys.readouterr().err


def test_a_page_of_many_partitions_shows_those_that_differ_first() -> None:
    a = a_side("A", *(facts(number, checksum=1) for number in range(300)))
    b = a_side("B", *(facts(number, checksum=1 + (number == 250)) for number in range(300)))
    rows = page.partitions(an_outcome(a=a, b=b))
    assert [row.number for row in rows][:3] == [250, 0, 1]
    assert [row.is_off for row in rows].count(True) == 1
    assert "And 100 more partitions" in page.render(an_outcome(a=a, b=b))


def test_json_is_what_expectations_are_written_as(tmp_path) -> None:
    expectations.write(str(tmp_path / "e.json"), expectations.of_side(a_side("A", facts(-1, 4))))
    assert json.loads((tmp_path / "e.json").read_text()) == {"count": 4, "checksum": f"{77:016x}"}
