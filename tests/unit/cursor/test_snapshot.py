"""The acknowledged offsets of a snapshot, as text."""

from __future__ import annotations

from base64 import b64encode
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.cursor import ack_chunks, snapshot
from redis_ledger.cursor.ranges import Range, to_ranges
from redis_ledger.cursor.snapshot import BadSnapshot

CHUNK = 8192


def test_the_example_of_the_documentation():
    assert snapshot.encode(17, [Range(18, 20), Range(22, 22)]) == "AQMBAQ=="
    assert snapshot.decode(17, "AQMBAQ==") == [Range(18, 20), Range(22, 22)]
    assert (snapshot.encode(5, []), snapshot.decode(5, "")) == ("", [])


offsets = st.integers(0, 3 * CHUNK) | st.integers(0, 1 << 40)
ranges = st.lists(st.tuples(offsets, st.integers(1, 3 * CHUNK)), max_size=60).map(
    lambda found: ack_chunks._merged([Range(first, first + size - 1) for first, size in found])
)


@given(ranges)
def test_ranges_come_back_from_the_text_and_from_the_fields(wanted):
    mark = wanted[0].first if wanted else 0
    assert snapshot.decode(mark, snapshot.encode(mark, wanted)) == wanted
    fields = ack_chunks.fields_of(wanted, 1_000)
    assert fields is not None
    assert ack_chunks.ranges(fields, 0, 1 << 50) == wanted
    assert ack_chunks.count_runs(fields) >= len(wanted)


@given(st.text() | st.binary(max_size=30).map(lambda text: b64encode(text).decode()))
def test_any_text_is_a_list_of_ranges_with_gaps_or_refused(text):
    try:
        found = snapshot.decode(3, text)
    except BadSnapshot:
        return
    assert all(first <= last for first, last in found)
    assert all(here.last + 1 < following.first for here, following in pairwise(found))
    assert not found or found[0].first >= 3


def test_fields_are_as_few_as_dispatch_would_store():
    # Given full chunks over a border of groups, a chunk with few runs, and one with many
    group = CHUNK * CHUNK
    wanted = to_ranges([*range(5 * group + 1, 5 * group + 200, 2)])
    wanted = [Range(3, 9), Range(group - 2 * CHUNK, group + CHUNK - 1), *wanted]
    fields = ack_chunks.fields_of(wanted, 10)
    assert fields is not None
    assert {name: len(value) for name, value in fields.items()} == {
        b"8e90": 3, b"8e91": 2, b"9e90": 2, b"%d" % (5 * CHUNK): 1024,
    }  # fmt: skip


def test_more_fields_than_allowed_are_none():
    assert ack_chunks.fields_of([Range(0, 1 << 60)], 4_096) is None
    assert ack_chunks.fields_of([Range(n * CHUNK, n * CHUNK) for n in range(5)], 4) is None


@pytest.mark.parametrize(
    ("fields", "runs"),
    [
        ({}, 0),
        ({b"9e90": b"\x01\x02\x03\x04"}, 2),
        ({b"0": b"\xa1"}, 3),
        ({b"0": b"\x01" + bytes(1022) + b"\x81"}, 3),
        ({b"8e90": b"\x00\x05", b"1": b"\x80"}, 2),
    ],
)
def test_runs_are_counted_without_reading_them(fields, runs):
    assert ack_chunks.count_runs(fields) == runs
