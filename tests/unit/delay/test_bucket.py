"""redis_ledger/delay/bucket: segments of rows, their encoding, and the metadata."""

from __future__ import annotations

import random
from itertools import chain

import pytest
from crc32c import crc32c

from redis_ledger.delay.bucket import (
    VERSION,
    DamagedSnapshot,
    bitmaps,
    cut,
    decode_metadata,
    decode_segment,
    describe,
    encode_metadata,
    encode_segment,
)
from redis_ledger.delay.entry import WHOLE, Indexed
from redis_ledger.delay.live_bitmap import LiveBitmap
from redis_ledger.proto.delay_bucket_pb2 import BucketMetadata

T0 = 1_763_760_000_000
HOUR_MS = 3_600_000


def row(due_ms, entry, index=WHOLE, ledger=-3, records=1, size=170, newest_ms=T0):
    return Indexed(due_ms, entry, index, ledger, records, size, newest_ms)


def arrivals(count, *, seed=1, first=1_000_000, span_ms=HOUR_MS):
    """One-record entries of about 170 bytes that arrive at 20 a ms, due at any time within span_ms; in order."""
    rng = random.Random(seed)
    return sorted(
        row(T0 + 60_000 + rng.randrange(span_ms), first + i, size=round(rng.gauss(170, 10)), newest_ms=T0 + i // 20)
        for i in range(count)
    )


def due_times(segments):
    return [[r.due_ms for r in segment] for segment in segments]


# -- cutting -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("due", "step", "most", "segments"),
    [
        ([], 100, 5, []),
        ([7], 100, 5, [[7]]),
        ([7, 106], 100, 5, [[7, 106]]),
        ([7, 107], 100, 5, [[7], [107]]),
        ([7, 107, 206, 207], 100, 5, [[7], [107, 206], [207]]),
        ([1, 1, 1], 100, 2, [[1, 1], [1]]),
        ([1, 1, 1], 100, 3, [[1, 1, 1]]),
        ([1, 2, 3], 100, 1, [[1], [2], [3]]),
        ([1] * 9, 100, -1, [[1] * 9]),
        ([1, 2, 900, 901, 902], 100, 2, [[1, 2], [900, 901], [902]]),
    ],
)
def test_a_segment_ends_when_it_spans_the_step_or_has_the_most_rows(due, step, most, segments):
    rows = [row(due_ms, entry) for entry, due_ms in enumerate(due)]
    assert due_times(cut(rows, time_step_ms=step, indexes_max=most)) == segments


def test_twenty_entries_at_five_to_a_segment_are_four_segments():
    rows = [row(T0 + i, i) for i in range(20)]
    assert [len(s) for s in cut(rows, time_step_ms=HOUR_MS, indexes_max=5)] == [5, 5, 5, 5]


def test_segments_together_are_the_rows_in_order():
    rows = arrivals(2_000)
    assert list(chain.from_iterable(cut(iter(rows), time_step_ms=300_000, indexes_max=100))) == rows


# -- segments ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [
        [row(T0, 0)],
        [row(0, 0, 0, -1, 0, 0, 0)],
        [row(T0, 17), row(T0, 18)],
        [
            row(T0, 18, 2, records=5, size=803),
            row(T0, 18, 4, records=5, size=803),
            row(T0 + 1, 18, records=5, size=803),
        ],
        [row(T0 + i, i, ledger=-3 if i < 300 else -4) for i in range(600)],
        [row(T0 + i, i, newest_ms=T0 - 7 * i) for i in range(600)],
        [row(T0 + i, 600 - i, newest_ms=(-1, 2**63 - 1)[i % 2]) for i in range(600)],
        [row(2**62 + 255 * i, i * 10**9, size=i * 70_000) for i in range(900)],
        [row(T0, i, newest_ms=ms) for i, ms in enumerate([-(2**63), 2**63 - 1])],
    ],
    ids=["one", "zeros", "two", "moved", "ledgers", "falling", "jumping", "huge", "as far apart as can be"],
)
def test_a_segment_comes_back_as_it_was(rows):
    found = decode_segment(encode_segment(rows))
    assert found == rows
    assert {type(each) for each in found} == {Indexed}


def test_rows_of_random_due_times_take_less_than_five_bytes_with_their_metadata():
    # Given 50 000 entries as they arrive within some seconds, due within one hour
    segments = cut(arrivals(50_000), time_step_ms=300_000, indexes_max=5_000)
    # When they are written
    data = [encode_segment(segment) for segment in segments]
    metadata = encode_metadata(-3, -3, [describe(s, len(d)) for s, d in zip(segments, data, strict=True)])
    # Then they are read back from less than five bytes each; what Redis adds to that is at most a fifth
    assert [decode_segment(d) for d in data] == segments
    assert (sum(map(len, data)) + len(metadata)) / 50_000 < 5


def test_a_fixed_delay_takes_less_than_two_bytes_a_row():
    rows = sorted(r._replace(due_ms=r.newest_ms + HOUR_MS) for r in arrivals(5_000))
    assert len(encode_segment(rows)) < 2 * 5_000


# -- damage ------------------------------------------------------------------------------------------------------------


def sealed(data):
    return data + crc32c(data).to_bytes(4, "little")


def test_a_change_to_any_byte_is_noticed():
    # Given a segment and metadata
    rows = [row(T0 + 7 * i, i, size=i) for i in range(40)]
    segment, metadata = encode_segment(rows), encode_metadata(-3, -3, [describe(rows, 99)])
    for data, decode in ((segment, decode_segment), (metadata, decode_metadata)):
        for at in range(len(data)):
            # When one of its bytes changes, or is the last that is left
            for damaged in (data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :], data[:at]):
                # Then it is refused
                with pytest.raises(DamagedSnapshot):
                    decode(damaged)


@pytest.mark.parametrize("data", [b"", sealed(b""), sealed(b"\xff"), sealed(b"\x0a\x7f"), sealed(b"\x0a\x02\x08\x05")])
def test_foreign_bytes_are_refused(data):
    for decode in (decode_segment, decode_metadata):
        with pytest.raises(DamagedSnapshot):
            decode(data)


def test_a_segment_is_not_taken_for_metadata_nor_the_other_way_round():
    rows = [row(T0, 1), row(T0 + 5, 2)]
    with pytest.raises(DamagedSnapshot):
        decode_metadata(encode_segment(rows))
    with pytest.raises(DamagedSnapshot):
        decode_segment(encode_metadata(-3, -3, [describe(rows, 1)]))


def test_a_newer_version_is_refused_by_name():
    newer = sealed(BucketMetadata(version=VERSION + 1).SerializeToString())
    with pytest.raises(DamagedSnapshot, match="version 2"):
        decode_metadata(newer)


# -- metadata ----------------------------------------------------------------------------------------------------------


def sealed_bucket(rows, **rule):
    segments = cut(rows, **{"time_step_ms": 300_000, "indexes_max": 500} | rule)
    described = [describe(s, len(encode_segment(s))) for s in segments]
    return segments, decode_metadata(encode_metadata(-3, -9, described))


def test_metadata_knows_of_each_segment_what_can_be_asked_without_loading_it():
    segments, metadata = sealed_bucket(arrivals(2_000))
    assert (metadata.first_ledger, metadata.last_ledger, len(metadata.segments)) == (-3, -9, len(segments))
    for rows, segment in zip(segments, metadata.segments, strict=True):
        assert (segment.min_due_ms, segment.max_due_ms) == (rows[0].due_ms, rows[-1].due_ms)
        assert segment.first_entry == rows[0].entry
        assert (segment.entries, segment.records) == (len(rows), len(rows))
        assert segment.size == len(encode_segment(rows))
        assert list(bitmaps(segment)) == [-3]
        assert set(bitmaps(segment)[-3].entries(0, 10**7)) == {r.entry for r in rows}


def test_the_ones_of_all_bitmaps_are_as_many_as_the_entries():
    rows = [r._replace(ledger=-3 - r.entry // 1_000_700) for r in arrivals(3_000)]
    _, metadata = sealed_bucket(rows)
    ones = [b.count(0, 10**7) for segment in metadata.segments for b in bitmaps(segment).values()]
    assert sum(ones) == len(rows)
    assert {ledger for segment in metadata.segments for ledger in bitmaps(segment)} == {-3, -4}


def test_the_bucket_contains_its_entries_and_no_others():
    rows = [r for r in arrivals(2_000) if r.entry % 3]
    _, metadata = sealed_bucket(rows)
    inside = {r.entry for r in rows}
    assert [e for e in range(999_990, 1_002_010) if metadata.contains(e)] == sorted(inside)


def test_an_entry_is_alive_once_however_many_rows_it_has():
    # Given entries of five records, of which the second record of each waits by itself in another segment
    rows = sorted(
        chain.from_iterable((row(T0 + e, e, records=5), row(T0 + HOUR_MS + e, e, 1, records=5)) for e in range(100))
    )
    _, metadata = sealed_bucket(rows)
    # When every second entry is gone
    live = LiveBitmap.of(range(0, 100, 2))
    # Then half of the hundred are alive, and rows and records are counted as they are written
    assert metadata.alive(live) == 50
    assert [(s.entries, s.records) for s in metadata.segments] == [(100, 500), (100, 100)]


def test_nothing_is_alive_when_all_live_bits_are_gone():
    _, metadata = sealed_bucket(arrivals(600))
    assert metadata.alive(LiveBitmap.from_reply([244, 245], [None, None])) == 0
    assert metadata.alive(LiveBitmap.of(range(1_000_000, 1_000_600))) == 600


def test_entries_far_apart_cost_no_more_than_entries_side_by_side():
    rows = [row(T0 + i, i * 10**8) for i in range(500)]
    (segment,), metadata = sealed_bucket(rows)
    assert len(segment) == 500
    assert len(encode_metadata(-3, -3, metadata.segments)) < 200
    assert metadata.contains(499 * 10**8)
    assert not metadata.contains(499 * 10**8 + 4_096)
