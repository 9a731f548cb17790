"""redis_ledger/delay/live_bitmap: the live bits in Redis's format."""

from __future__ import annotations

import pytest

from redis_ledger.delay.live_bitmap import CHUNK, LiveBitmap


def chunk(*bits):
    data = bytearray(512)
    for bit in bits:
        data[bit // 8] |= 1 << bit % 8
    return bytes(data)


def test_bits_are_read_least_significant_first_as_the_scripts_write_them():
    live = LiveBitmap.from_reply([0, 1], [b"\x01" + bytes(510) + b"\x80", b"\x80" + bytes(511)])
    assert list(live.entries(0, 10_000)) == [0, 4095, 4103]
    assert [e for e in range(3 * CHUNK) if live.holds(e)] == [0, 4095, 4103]


def test_an_absent_chunk_is_all_zero():
    live = LiveBitmap.from_reply([3, 4], [None, chunk(5)])
    assert not live.holds(3 * CHUNK + 5)
    assert live.holds(4 * CHUNK + 5)
    assert not live.holds(5 * CHUNK + 5)
    assert live.chunks == [4]


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        (0, 10**15, [1, 4095, 4096, 12_288]),
        (1, 4096, [1, 4095, 4096]),
        (2, 4095, [4095]),
        (4096, 4096, [4096]),
        (4097, 12_287, []),
        (12_288, 12_288, [12_288]),
        (5, 4, []),
    ],
)
def test_both_ends_of_a_range_belong_to_it(first, last, found):
    live = LiveBitmap.of([12_288, 1, 4096, 4095, 1])
    assert list(live.entries(first, last)) == found
    assert live.count(first, last) == len(found)


def test_entries_shared_are_those_in_both():
    some, others = LiveBitmap.of([1, 2, 5000, 9000]), LiveBitmap.of([2, 3, 5000, 20_000])
    assert some.shared(others) == others.shared(some) == 2
    assert list(LiveBitmap.union([some, others]).entries(0, 10**6)) == [1, 2, 3, 5000, 9000, 20_000]
