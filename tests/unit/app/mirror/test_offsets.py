"""app/tools/mirror/offsets: an offset of the source is the same record on the target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.app.tools.mirror.groups import translated
from redis_ledger.app.tools.mirror.offsets import OffsetTranslation, Stretch, stretches


def test_offsets_with_a_constant_difference_are_one_range():
    assert stretches([(5, 0), (6, 1), (7, 2)]) == [Stretch(5, 0, 3)]


def test_gap_on_either_side_begins_another_range():
    assert stretches([(5, 0), (7, 1), (8, 3)]) == [Stretch(5, 0, 1), Stretch(7, 1, 1), Stretch(8, 3, 1)]


def test_nothing_is_translated_before_anything_was_mirrored():
    assert OffsetTranslation().translate(3) == 0


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, 10),  # trimmed on the source: the first there is
        (5, 10),
        (6, 11),
        (8, 20),  # in a gap: what comes behind it
        (9, 20),
        (10, 21),
        (11, 22),  # the end
        (99, 22),
    ],
)
def test_offset_is_translated_to_the_target(offset, expected):
    places = OffsetTranslation()
    places.add(Stretch(5, 10, 3))
    places.add(Stretch(9, 20, 2))
    assert places.translate(offset) == expected


def test_duplicate_range_is_ignored():
    places = OffsetTranslation()
    for stretch in (Stretch(5, 10, 3), Stretch(5, 10, 3), Stretch(8, 13, 1), Stretch(6, 11, 1)):
        places.add(stretch)
    assert places.all() == (Stretch(5, 10, 4),)
    assert places.source_end == 9


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=40))
def test_every_mirrored_offset_is_translated(steps):
    pairs, source, target = [], 0, 0
    for ahead, behind in steps:
        source, target = source + ahead, target + behind
        pairs.append((source, target))
    places = OffsetTranslation()
    for stretch in stretches(pairs):
        places.add(stretch)
    assert [places.translate(each) for each, _ in pairs] == [went for _, went in pairs]
    everything = [places.translate(each) or 0 for each in range(source + 2)]
    assert everything == sorted(everything), "never backwards"


@pytest.mark.parametrize(
    ("at_source", "known", "expected"),
    [
        ({"p": 6}, {}, {"p": 11}),
        ({"p": 6}, {"p": 10}, {"p": 11}),
        ({"p": 6}, {"p": 11}, {}),
        ({"p": 6}, {"p": 40}, {}),
        ({"p": -1}, {}, {}),
        ({"other": 6}, {}, {}),
    ],
)
def test_group_offsets_never_move_back(at_source, known, expected):
    places = OffsetTranslation()
    places.add(Stretch(5, 10, 3))
    assert translated(at_source, known, {"p": places}) == expected
