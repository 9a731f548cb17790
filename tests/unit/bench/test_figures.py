"""The file of figures and its tables."""

from __future__ import annotations

import pytest

from bench import figures
from bench.figures import Figure

RATE = Figure("append_raw", "64KiB", "mb_per_s", 231.5, "MB/s", 200, "process")
LATENCY = Figure("commit_http", "64", "p99_ms", 7.25, "ms", 5, "process")
COSTS = [
    Figure("append_raw", "64KiB", "client_cpu_s", 0.3, "s", None, "process"),
    Figure("append_raw", "64KiB", "redis_cpu_s", 1.5, "s", None, "process"),
    Figure("append_raw", "64KiB", "measured_s", 3, "s", None, "process"),
]


def test_a_bench_replaces_its_own_lines_and_leaves_the_others(tmp_path):
    # Given figures of two benches
    path = tmp_path / "results" / "latest.jsonl"
    figures.replace([RATE, LATENCY, *COSTS], path)
    # When one of them is measured again
    again = RATE._replace(value=250.0)
    figures.replace([again], path)
    # Then all its old lines are gone, and the other's are there
    assert figures.read(path) == [again, LATENCY]


@pytest.mark.parametrize(
    ("figure", "word"),
    [
        (RATE, "met"),
        (RATE._replace(value=199.0), "missed"),
        (LATENCY, "missed"),
        (LATENCY._replace(value=5.0), "met"),
        (RATE._replace(goal=None), ""),
    ],
)
def test_of_rates_more_is_better_and_of_everything_else_less(figure, word):
    assert figures.verdict(figure) == word


def test_the_cost_of_a_run_stands_beside_its_figure_and_what_is_unknown_is_left_open():
    # Given a rate with the CPU of its run, the broker's not known on this machine
    shown = figures.rows([RATE, *COSTS])
    # Then there is one row, with shares of a core
    assert shown == [(RATE, "10/–/50")]


def test_the_page_keeps_what_stands_around_the_figures(tmp_path):
    # Given a page with text around its markers, and a figure
    page, latest = tmp_path / "RESULTS.md", tmp_path / "latest.jsonl"
    page.write_text(f"before\n{figures.BEGIN}\nold\n{figures.END}\nafter\n")
    figures.replace([RATE], latest)
    # When the figures are written into it, twice
    figures.write_page(page, latest)
    once = page.read_text()
    figures.write_page(page, latest)
    # Then the old ones are gone, the rest stands, and the second time changes nothing
    assert once == page.read_text()
    assert once.startswith("before\n")
    assert once.endswith("after\n")
    assert "old" not in once
    assert "| `append_raw` | `64KiB` | process | `mb_per_s` | 231.5 | 200.0 | met |" in once


@pytest.mark.parametrize(("value", "text"), [(41_234.4, "41 234"), (231.55, "231.6"), (0.874, "0.87"), (0, "0.00")])
def test_a_number_is_shown_with_the_digits_that_mean_something(value, text):
    assert figures.number(value) == text
