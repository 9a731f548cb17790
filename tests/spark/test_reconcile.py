"""Reconciling with a real Spark: equal sides are equal, and every kind of difference is named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

from redis_ledger.spark.pipelines import offload, reconcile

FLIGHTS: list[dict[str, Any]] = [
    {"flight": n, "origin": ["LAS", "PHX", "OAK"][n % 3], "delay": (n * 7) % 50 - 10} for n in range(60)
]


class Ran:
    """code: the exit code.  stdout: stdout.  page: the report."""

    def __init__(self, code: int, stdout: str, stderr: str, page: str) -> None:
        self.code, self.stdout, self.stderr, self.page = code, stdout, stderr, page

    @property
    def headline(self) -> str:
        return self.stdout.split("\n", maxsplit=1)[0]


@pytest.fixture
def run(spark, url, tmp_path, capsys) -> Callable[..., Ran]:
    def ran(left: str, right: str | None = None, *more: str) -> Ran:
        report = tmp_path / "report.html"
        report.unlink(missing_ok=True)
        sides = ["--left", left, *(["--right", right] if right else [])]
        code = reconcile.main(["--bootstrap", url, "--report", str(report), *sides, *more])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err, report.read_text() if report.exists() else "")

    return ran


@pytest.fixture
def flights(topic, name, client) -> str:
    """A topic of two partitions, some of its records aborted."""
    made = topic(partitions=2)
    for n in range(0, 60, 20):
        aborted = client.transaction()
        aborted.send(made.name, {"flight": -1, "origin": "???", "delay": 0}, partition=0).result()
        aborted.abort()
        for flight in FLIGHTS[n : n + 20]:
            made.send(
                flight, partition=flight["flight"] % 2, key=flight["origin"], timestamp_ms=1_000 * flight["flight"]
            )
    return str(made.name)


@pytest.fixture
def lines(tmp_path) -> Callable[..., str]:
    def write(flights: list[Any], name: str = "lines.jsonl") -> str:
        # Unlike the JSON of the SDK: with blanks, and members in another order.
        texts = [json.dumps(dict(reversed(flight.items()))) + "\n" for flight in flights]
        (tmp_path / name).write_text("".join(texts))
        return f"jsonl:{tmp_path / name}"

    return write


@pytest.fixture
def saved(spark, topic, tmp_path) -> Callable[..., str]:
    """Writes a topic's records to a folder of Parquet, except those that `keep` excludes."""

    def save(name: str, keep: str = "true", twice: str = "false", **options: Any) -> str:
        frame = spark.read.format("redis-ledger").options(
            bootstrap=options.pop("url"), topics=name, includeHeaders="true"
        )
        table = frame.load().where(keep)
        table.unionByName(table.where(twice)).write.mode("overwrite").parquet(str(tmp_path / "saved"))
        return f"parquet:{tmp_path / 'saved'}"

    return save


class Outside(HTMLParser):
    """Collects external references of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {name}={value}" for name, value in attrs if name in ("src", "href", "srcset", "data")]
        self.found += [tag] if tag in ("script", "link", "iframe", "img", "object", "embed") else []


def test_a_topic_and_its_copy_are_the_same_and_aborted_records_are_no_loss(run, flights, saved, url):
    copy = saved(flights, url=url)
    ran = run(f"topic:{flights}", copy, "--key", "offset", "--contents", "key,value,timestamp,headers")
    assert (ran.code, ran.headline) == (0, "The same: 60 records on both sides.")
    # Three aborted records, and a marker after each
    assert "A: offsets without a record: 6 (markers, aborted or compacted records)." in ran.stdout
    assert "<h1>The same: 60 records on both sides.</h1>" in ran.page


def test_the_page_needs_nothing_from_outside(run, flights, saved, url):
    page = run(f"topic:{flights}", saved(flights, "offset > 3", url=url), "--key", "offset").page
    outside = Outside()
    outside.feed(page)
    assert outside.found == []
    assert re.findall(r"url\(|@import|https?:", page) == []
    assert page.count("<svg") == 5  # through time, and two rows for each of two partitions


def test_missing_records_are_counted_and_shown(run, flights, saved, url):
    short = saved(flights, "not (partition = 1 and offset between 5 and 8)", url=url)
    ran = run(f"topic:{flights}", short, "--key", "offset")
    assert (ran.code, ran.headline) == (1, "Not the same: 4 records are missing in B.")
    missing = [flight for flight in FLIGHTS if flight["flight"] % 2][5:9]
    shown = re.findall(r"flight&#34;:(\d+)", ran.page.split("Missing in B")[1])
    assert [int(number) for number in shown] == [flight["flight"] for flight in missing]


def test_duplicate_extra_and_different_records_are_distinguished(run, lines):
    other = [*FLIGHTS[:10], FLIGHTS[3], {**FLIGHTS[10], "delay": 999}, *FLIGHTS[11:], {"flight": 77, "origin": "HNL"}]
    ran = run(lines(FLIGHTS), lines(other, "other.jsonl"), "--json", "--key", "flight", "--contents", "value")
    assert ran.code == 1
    assert ran.headline == (
        "Not the same: 1 record is only in B, 1 record is once too often in B, 1 record has other contents in B."
    )
    sections = ran.page.split("<h2>")
    (differing,) = [each for each in sections if each.startswith("Other contents in B: 1")]
    assert "999" in differing
    assert str(FLIGHTS[10]["delay"]) in differing


def test_the_order_of_records_and_of_json_members_is_ignored(run, flights, lines):
    mixed = lines([*FLIGHTS[30:], *FLIGHTS[:30]])
    assert run(f"topic:{flights}", mixed, "--json").headline == "The same: 60 records on both sides."
    assert run(f"topic:{flights}", mixed).headline.startswith("Not the same: 60 records are missing in B")


def test_null_is_not_empty_and_a_key_is_not_a_value(run, topic, client, name):
    one, other = topic(name=f"{name}-a"), topic(name=f"{name}-b")
    one.send("", "x", key=None)
    other.send(None, "x", key=None)
    ran = run(f"topic:{one.name}", f"topic:{other.name}")
    assert ran.headline == "Not the same: 1 record is missing in B, 1 record is only in B."
    third, fourth = topic(name=f"{name}-c"), topic(name=f"{name}-d")
    third.send(None, key="a")
    fourth.send("a", key=None)
    assert run(f"topic:{third.name}", f"topic:{fourth.name}").code == 1


def test_duplicates_on_both_sides_are_a_note_and_wrong_only_with_unique(run, lines):
    double = lines([*FLIGHTS, *FLIGHTS[:2]])
    assert (ran := run(double, double)).code == 0
    assert "2 records are a duplicate, in A as in B." in ran.stdout
    ran = run(double, double, "--unique")
    assert ran.headline == "Not the same: 2 records are a duplicate in A, 2 records are a duplicate in B."


def test_unordered_records_are_found_within_partitions_and_keys(run, topic):
    made = topic(partitions=2)
    for partition in range(2):
        for n in [0, 1, 4, 3, 5] if partition else range(5):
            made.send({"n": n}, partition=partition, key=f"{n % 2}")
    both = f"topic:{made.name}", f"topic:{made.name}"
    ran = run(*both, "--ordered-by", "cast($.n as int)")
    one = "1 record is out of order in {} (by cast($.n as int) within each partition)"
    assert ran.headline == f"Not the same: {one.format('A')}, {one.format('B')}."
    # 4 and 3 have different keys
    within_key = run(*both, "--ordered-by", "cast($.n as int)", "--ordered-within", "key", "--key", "partition, key")
    assert within_key.code == 0


def test_overlap_compares_offsets_that_both_sides_have(run, flights, saved, url):
    behind = saved(flights, "offset < 12", url=url)
    assert run(f"topic:{flights}", behind, "--key", "offset").code == 1
    ran = run(f"topic:{flights}", behind, "--key", "offset", "--overlap")
    assert (ran.code, ran.headline) == (0, "The same: 22 records on both sides.")
    assert "A: 38 records lie outside the offsets that both sides have, and were left out." in ran.stdout


def test_undecided_records_are_not_compared_and_noted(run, topic, client):
    made = topic()
    made.send("a")
    undecided = client.transaction()
    undecided.send(made.name, "b").result()
    ran = run(f"topic:{made.name}", f"topic:{made.name}")
    undecided.abort()
    assert ran.headline == "The same: 1 record on both sides."
    assert "A: 1 offset lies behind an open transaction and could not be compared yet." in ran.stdout


def test_the_offloaded_side_equals_the_topic(run, flights, url, tmp_path):
    facts = tmp_path / "facts.json"
    assert run(f"topic:{flights}", None, "--write-expectations", str(facts)).code == 0
    assert "has no offloaded records" in run(f"offloaded:{flights}", f"expect:{facts}").stderr
    assert offload.main(["--bootstrap", url, "--topic", flights, "--seal"]) == 0
    ran = run(f"offloaded:{flights}", f"expect:{facts}")
    assert (ran.code, ran.headline) == (0, "The same: A is as expected, 6 expectations of it.")
    everything = ("--key", "offset", "--contents", "key,value,timestamp,headers")
    assert (
        run(f"topic:{flights}", f"offloaded:{flights}", *everything).headline == "The same: 60 records on both sides."
    )


def test_a_query_gives_a_side_the_columns_of_the_other(run, spark, flights, tmp_path):
    spark.createDataFrame([(each["origin"], each["flight"]) for each in FLIGHTS], "origin string, flight int").groupBy(
        "origin"
    ).count().write.parquet(str(tmp_path / "counted"))
    as_counted = "select cast(key as string) origin, count(*) count from side group by 1"
    ran = run(f"topic:{flights}", f"parquet:{tmp_path / 'counted'}", "--left-as", as_counted)
    assert (ran.code, ran.headline) == (0, "The same: 3 records on both sides.")


def test_written_expectations_hold_until_something_changes(run, topic, tmp_path):
    made = topic(partitions=2)
    made.send(*FLIGHTS[:9], partition=1)
    facts = tmp_path / "facts.json"
    assert run(f"topic:{made.name}", None, "--write-expectations", str(facts)).code == 0
    expected = json.loads(facts.read_text())
    assert (expected["count"], expected["partitions"], expected["offsets"]) == (9, {"0": 0, "1": 9}, {"1": [0, 9]})
    assert run(f"topic:{made.name}", f"expect:{facts}").headline == "The same: A is as expected, 5 expectations of it."
    made.send({"flight": 3}, partition=0)
    ran = run(f"topic:{made.name}", f"expect:{facts}")
    assert ran.code == 1
    assert ran.headline.startswith("Not as expected: the number of records should be 9 and is 10, records of partition")


def test_each_expectation_is_checked(run, lines, tmp_path):
    def ran(**expected):
        (tmp_path / "e.json").write_text(json.dumps(expected))
        return run(lines(FLIGHTS), f"expect:{tmp_path / 'e.json'}", "--key", "origin", "--contents", "value")

    origins = ["LAS", "OAK", "PHX"]
    good = ran(count_min=60, count_max=60, distinct_keys=3, keys=origins, unique=["flight"], not_null=["origin"])
    assert (good.code, good.headline) == (0, "The same: A is as expected, 7 expectations of it.")
    bad = ran(
        count=61, count_min=61, count_max=59, distinct_keys=4, keys=["LAS", "OAK", "SFO"], unique=["origin"],
        not_null=["nullif(origin, 'LAS')"], checksum="00",
    )  # fmt: skip
    assert bad.code == 1
    wrong = re.findall(r'<li class="no">(.*)</li>', bad.page)
    assert [re.sub(r" and is [0-9a-f]{16}", "", each) for each in wrong] == [
        "the number of records should be 61 and is 60",
        "the least number of records should be 61 and is 60",
        "the greatest number of records should be 59 and is 60",
        "the checksum should be 00",
        "the number of keys should be 4 and is 3",
        "missing keys should be none and is 1 missing: SFO",
        "other keys should be none and is 1 more: PHX",
        "unique origin should be no duplicates and is 57 duplicates",
        "not null nullif(origin, &#39;LAS&#39;) should be no nulls and is 20 nulls",
    ]


@pytest.mark.parametrize(
    ("left", "right", "more", "sentence"),
    [
        ("topic:unknown-topic", "jsonl:{here}/lines.jsonl", (), "unknown-topic"),
        ("jsonl:{here}/lines.jsonl", "parquet:{here}/nowhere", (), "nowhere"),
        ("jsonl:{here}/lines.jsonl", "expect:{here}/nowhere.json", (), "nowhere.json cannot be read"),
        ("jsonl:{here}/lines.jsonl", "jsonl:{here}/lines.jsonl", ("--key", "nonsense"), "nonsense"),
        ("jsonl:{here}/lines.jsonl", "jsonl:{here}/lines.jsonl", ("--key", "offset"), "--key offset needs the columns"),
        ("jsonl:{here}/lines.jsonl", "jsonl:{here}/lines.jsonl", ("--ordered-by", "flight"), "needs a column offset"),
    ],
)
def test_sides_that_cannot_be_compared_are_reported_in_one_sentence(run, lines, tmp_path, left, right, more, sentence):
    lines(FLIGHTS)
    ran = run(left.format(here=tmp_path), right.format(here=tmp_path), *more)
    assert (ran.code, ran.stdout, ran.page) == (2, "", "")
    (error,) = [line for line in ran.stderr.splitlines() if "could not compare" in line]
    assert sentence in error


def test_bytes_that_are_not_text_are_compared_and_shown(run, topic, name):
    one, other = topic(name=f"{name}-a"), topic(name=f"{name}-b")
    one.send(b"\xff\x00\x01", b"plain", key=b"\xfe")
    other.send(b"\xff\x00\x02", b"plain", key=b"\xfe")
    ran = run(f"topic:{one.name}", f"topic:{other.name}", "--json")
    assert ran.headline == "Not the same: 1 record is missing in B, 1 record is only in B."
    assert "0xFF0001" in ran.page


def test_a_record_cannot_put_markup_into_the_page(run, lines):
    bad = [{"flight": 1, "origin": "<script>alert(1)</script>"}]
    page = run(lines(FLIGHTS), lines(bad, "bad.jsonl")).page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
