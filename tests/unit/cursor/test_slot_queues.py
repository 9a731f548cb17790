"""cursor/slot_queues: what is written is read again, and what is damaged is refused."""

from __future__ import annotations

import pytest

from redis_ledger.cursor.slot_queues import (
    UNSEEN,
    Entry,
    all_entries,
    entries,
    fields_of,
    is_field,
    is_readable,
)
from redis_ledger.errors import StoredDamaged

ENTRIES = [
    Entry(3, b"abc\x11", "c1", 0, 1_000, "r1"),
    Entry(5, b"abd\x11", UNSEEN),
    Entry(300, b"abc\x11", None),
    Entry(1 << 40, b"xyz\xff", "", 7, 2_000),
    Entry((1 << 40) + 1, b"xyz\xff", "c%202", 7, 1_500),
]


def test_fields_are_read_again():
    fields, due = fields_of(reversed(ENTRIES))
    assert all_entries(fields) == {each.offset: each for each in ENTRIES}
    assert due == {b"17": 1_000, b"255": 1_500}
    assert sorted(fields) == [b"m0", b"m1", b"m4294967296", b"s17", b"s255"]
    assert fields[b"m0"] == b"\0\2" + b"\0\0\0\x11\0\x11"
    assert all(map(is_field, fields))


@pytest.mark.parametrize("name", [b"17", b"", b"s", b"m-1", b"o17", b"s1x"])
def test_other_names_are_no_fields_of_queues(name):
    assert not is_field(name)


def test_a_cut_or_extended_queue_is_refused():
    text = fields_of(ENTRIES)[0][b"s17"]
    for some in (*(text[:size] for size in range(len(text))), text + b"\0"):
        with pytest.raises(StoredDamaged):
            entries(17, some)
        assert not is_readable(b"s17", some)
    assert is_readable(b"s17", text)
    assert not is_readable(b"s256", text)


def test_an_unknown_state_and_another_order_are_refused():
    text = fields_of(ENTRIES)[0][b"s17"]
    with pytest.raises(StoredDamaged, match="hash slot 17"):
        entries(17, text[:-1] + b"\x09")
    with pytest.raises(StoredDamaged):
        entries(17, text[:-1] + text[-3:-2])  # one more of a grant than it says
    (same,) = (fields_of([ENTRIES[0]])[0][b"s17"],)
    twice = same.replace(b"\0\0\0\1", b"\0\0\0\2", 1)
    with pytest.raises(StoredDamaged):
        entries(17, twice)


def test_what_cannot_be_read_is_left_out():
    fields, _ = fields_of(ENTRIES)
    assert all_entries(fields | {b"s17": b"nonsense"}).keys() == {1 << 40, (1 << 40) + 1}
    assert all_entries(fields | {b"s999": fields[b"s17"]}) == all_entries(fields)
