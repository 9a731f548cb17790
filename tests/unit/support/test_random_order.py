"""The option --random-order."""

from __future__ import annotations

from types import SimpleNamespace

from tests.support.random_order import MixedFiles, RandomOrder


def shuffled(seed: int) -> list[int]:
    items = list(range(50))
    RandomOrder(seed).pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    return items


def test_a_seed_determines_the_order_and_no_test_is_lost():
    assert shuffled(1) == shuffled(1) != shuffled(2)
    assert sorted(shuffled(1)) == list(range(50)) != shuffled(1)


def test_the_seed_is_printed():
    assert "--random-order 7" in RandomOrder(7).pytest_report_header()


def test_mixed_files_keep_their_tests_together_and_in_order():
    files = [f"tests/unit/test_{name}.py" for name in "abcdefgh"]
    items = [SimpleNamespace(location=(file, line, "")) for file in files for line in range(3)]
    MixedFiles().pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    seen = [item.location[0] for item in items]
    assert [item.location[1] for item in items] == [0, 1, 2] * len(files)
    assert sorted(seen[::3]) == files != seen[::3]
    assert seen[::3] == seen[1::3] == seen[2::3]
