"""Rows of a segment converted to record batches: any reader of Kafka's format decodes the same records."""

from __future__ import annotations

import pytest
from aiokafka.record.default_records import _DefaultRecordBatchPy
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.offload.segment import Row, to_record_batch
from redis_ledger.offload.to_batches import BYTES_MAX, COLUMNS, RECORDS_MAX, rebuild
from redis_ledger.records.batch import CRC_FROM, LOG_APPEND_TIME, place, split
from redis_ledger.records.read import decode

maybe = st.one_of(st.none(), st.binary(max_size=200))
rows = st.builds(
    lambda gap, time, key, value, headers, kind: (gap, Row(0, time, key, value, headers, kind)),
    st.one_of(st.integers(0, 3), st.integers(0, 1 << 33)),
    st.integers(-1, 1 << 45),
    maybe,
    maybe,
    st.lists(st.tuples(st.text(max_size=4), st.one_of(st.none(), st.binary(max_size=4))), max_size=3),
    st.sampled_from([0, 0, 0, 1]),
)


def with_offsets(gaps_and_rows) -> list[Row]:
    found, at = [], 0
    for gap, row in gaps_and_rows:
        found.append(row._replace(offset=at + gap))
        at += gap + 1
    return found


def read(some: list[Row], first: int = 0) -> list[tuple[object, ...]]:
    """Decodes with the compiled reader, which validates, and with an independent one in pure Python."""
    found: list[tuple[object, ...]] = []
    again: list[tuple[object, ...]] = []
    last = -1
    for each in rebuild(to_record_batch("t", 0, some).select(COLUMNS).slice(first)):
        data = place(each.payload, each.base_offset, 0)
        ((header, view),) = split(data)
        assert header.crc == crc32c(bytes(view[CRC_FROM:]))
        assert last < header.base_offset == each.base_offset
        last = header.last_offset
        assert last == each.last_offset
        found += [tuple(record) for record in decode(data)]
        peer = _DefaultRecordBatchPy(data)
        again += [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in peer]
        assert each.newest_ms == header.max_timestamp == max(r.timestamp_ms for r in decode(data))
    assert found == [(a, -1 if b is None else b, *rest) for a, b, *rest in again]
    return found


def fields_of(some: list[Row]) -> list[tuple[object, ...]]:
    return [(row.offset, row.timestamp_ms, row.key, row.value, list(row.headers)) for row in some]


@given(st.lists(rows, max_size=30).map(with_offsets), st.integers(0, 3))
def test_batches_have_the_rows(some, first):
    assert read(some, first) == fields_of(some[first:])


def test_batches_have_a_size_that_fits_responses():
    small = [Row(n, n, None, b"v") for n in range(2_500)]
    assert [each.last_offset for each in rebuild(to_record_batch("t", 0, small).select(COLUMNS))] == [999, 1999, 2499]
    assert RECORDS_MAX == 1_000
    large = [Row(n, n, None, b"v" * 1_000) for n in range(1_000)]
    sizes = [len(each.payload) for each in rebuild(to_record_batch("t", 0, large).select(COLUMNS))]
    assert all(BYTES_MAX / 2 < size < 1.1 * BYTES_MAX for size in sizes[:-1])
    huge = [Row(0, 0, None, b"v" * 3_000_000), Row(1, 0, None, b"w")]
    sizes = [len(each.payload) for each in rebuild(to_record_batch("t", 0, huge).select(COLUMNS))]
    assert [size > 3_000_000 for size in sizes] == [
        True,
        False,
    ]


def test_no_rows_give_no_batch():
    assert rebuild(to_record_batch("t", 0, []).select(COLUMNS)) == []


@pytest.mark.parametrize("length", [0, 62, 63, 64, 8190, 8192, 70_000, 1_100_000])
def test_lengths_of_any_size_are_encoded(length):
    some = [Row(5, 7, b"k" * length, b"v" * length, [("h" * (length % 5_000), b"x" * length)])]
    assert read(some) == fields_of(some)


def test_log_append_times_are_preserved():
    some = [
        Row(0, 5, None, b"a", [], 0),
        Row(1, 9, None, b"b", [], 1),
        Row(2, 9, None, b"c", [], 1),
        Row(3, 11, None, b"d", [], 1),
    ]
    made = rebuild(to_record_batch("t", 0, some).select(COLUMNS))
    kinds = [
        (split(each.payload)[0][0].attributes & LOG_APPEND_TIME, each.base_offset, each.last_offset) for each in made
    ]
    assert kinds == [(0, 0, 0), (LOG_APPEND_TIME, 1, 2), (LOG_APPEND_TIME, 3, 3)]
    assert read(some) == fields_of(some)
