"""bench/paired.py: trees are compared turn by turn, so that a slow turn of the machine does not count."""

from __future__ import annotations

from bench.paired import Slice, ratio, table


def slices(*broker_us: float) -> list[Slice]:
    return [Slice(10, each, 5.0, 2 * each) for each in broker_us]


def test_the_ratio_is_that_of_most_turns_however_slow_the_machine_is_in_some():
    before, after = slices(100, 300, 110, 100), slices(80, 240, 88, 200)
    assert ratio(after, before, 1) == 0.8


def test_the_table_has_a_line_for_each_tree_with_its_ratio_to_the_first():
    lines = table({"fetch_64k": {"before": slices(100, 110), "after": slices(50, 55)}}).splitlines()
    assert lines[2:] == [
        "| fetch_64k | before | 105.0 | 1.000 | 5.0 | 1.000 | 210.0 | 1.000 | 20 |",
        "| fetch_64k | after | 52.5 | 0.500 | 5.0 | 1.000 | 105.0 | 0.500 | 20 |",
    ]
