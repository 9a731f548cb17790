from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.cursor.ack_chunks import CHUNK
from redis_ledger.cursor.backlog_analysis import BacklogCounts, bits_set, count
from redis_ledger.ledger.entries import COMMIT, MARKER, TRANSACTIONAL, Aborted, LogEntry


def entry(base, records=1, flags=0, producer=-1):
    return LogEntry(1, 1, base, records, 10, producer, 0, 0, flags, 0, 0)


def bitmap(*offsets):
    bits = bytearray(CHUNK // 8)
    for offset in offsets:
        bits[offset % CHUNK // 8] |= 128 >> offset % 8
    return bytes(bits).rstrip(b"\0")


LOG = [
    entry(4),
    entry(5, flags=TRANSACTIONAL, producer=1),
    entry(6, flags=TRANSACTIONAL | MARKER | COMMIT, producer=1),
    entry(7, 2, flags=TRANSACTIONAL, producer=2),
    entry(9, 3),
    entry(12, flags=TRANSACTIONAL | MARKER, producer=2),
    entry(13, 2, flags=TRANSACTIONAL, producer=3),
]
ABORTED = [Aborted(2, 7, 12, 13)]


def test_every_kind_is_counted_apart():
    assert count(LOG, 4, 13, ABORTED, {0: bitmap(4, 6, 10)}) == BacklogCounts(
        entries=7, batches=2, records=3, acknowledged=2, markers=2, aborted_batches=1, aborted_records=2, undecided=2
    )


def test_only_the_part_of_the_first_batch_from_the_offset_on_counts():
    assert count(LOG[4:5], 10, 13, ABORTED, {}) == BacklogCounts(entries=1, batches=1, records=2)


def test_counts_of_pages_add_up():
    total = BacklogCounts()
    for page in (LOG[:3], LOG[3:]):
        total.add(count(page, 4, 13, ABORTED, {}))
    assert total == count(LOG, 4, 13, ABORTED, {})


@pytest.mark.parametrize("length", [1, 3, 9_000])
@given(st.sets(st.integers(0, 3 * CHUNK - 1), max_size=40), st.integers(0, 2 * CHUNK))
def test_bits_are_counted_as_in_a_set(length, offsets, first):
    chunks = {number: bitmap(*(each for each in offsets if each // CHUNK == number)) for number in range(3)}
    assert bits_set(chunks, first, first + length - 1) == len(offsets & {*range(first, first + length)})
