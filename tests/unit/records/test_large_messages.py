"""Headers of large messages, and how values are cut."""

from __future__ import annotations

import pytest

from redis_ledger.records.large_messages import (
    CHUNK_BYTES,
    CHUNK_BYTES_MIN,
    OVERHEAD_BYTES,
    chunk_of,
    copied,
    copied_from,
    describe,
    descriptor_of,
    is_chunk,
)


@pytest.mark.parametrize(
    ("size", "batch_bytes_max", "chunks", "chunk_bytes"),
    [
        (1, 8 << 20, 1, CHUNK_BYTES),
        (CHUNK_BYTES, 8 << 20, 1, CHUNK_BYTES),
        (CHUNK_BYTES + 1, 8 << 20, 2, CHUNK_BYTES),
        (1 << 30, 8 << 20, 1_024, CHUNK_BYTES),
        (1 << 30, CHUNK_BYTES_MIN + OVERHEAD_BYTES, 16_384, CHUNK_BYTES_MIN),
    ],
)
def test_a_value_is_cut_into_chunks_that_fit_a_batch(size, batch_bytes_max, chunks, chunk_bytes):
    described = describe(size, batch_bytes_max)
    assert described is not None
    assert (described[0].size, described[0].chunks, described[1]) == (size, chunks, chunk_bytes)


def test_a_topic_with_very_small_batches_takes_no_large_messages():
    assert describe(1, CHUNK_BYTES_MIN + OVERHEAD_BYTES - 1) is None


def test_headers_are_read_as_they_were_written():
    described = describe(3 * CHUNK_BYTES, 8 << 20)
    assert described is not None
    descriptor = described[0]
    assert descriptor_of([("a", b"b"), descriptor.header()]) == descriptor
    found = [chunk_of(descriptor.chunk_headers(index, b"\xff" * 32)) for index in range(3)]
    chunks = [chunk for chunk in found if chunk is not None]
    assert [(c.id, c.place, c.chunks) for c in chunks] == [(descriptor.id, index, 3) for index in range(3)]
    assert [c.sha256 for c in chunks] == ["", "", "ff" * 32]
    assert [is_chunk(headers) for headers in ([descriptor.header()], descriptor.chunk_headers(0, b""))] == [False, True]


@pytest.mark.parametrize("value", [None, b"", b"id 1", b"id 1 2 3", b"id x 2", b"id 1 -2", b"\xff 1 2", b"i" * 500])
def test_other_values_are_not_taken_for_headers_of_large_messages(value):
    assert descriptor_of([("rl-large", value)]) is None
    assert chunk_of([("rl-chunk", value)]) is None
    assert copied_from([("rl-large-at", value)]) is None


@pytest.mark.parametrize(("chunks", "size"), [(0, 0), (0, 1), (2, 1), (1, (1 << 30) + 1), (9 << 99, 9 << 99)])
def test_numbers_that_no_large_message_has_are_not_believed(chunks, size):
    assert descriptor_of([("rl-large", b"id %d %d" % (chunks, size))]) is None


def test_the_copy_of_a_copy_still_locates_the_first_descriptor():
    own = [("a", b"b"), ("rl-large", b"id 1 2")]
    first = list(copied(own, "t", 3, 17))
    assert copied_from(first) == ("t", 3, 17)
    assert copied(first, "dead", 0, 1) == first
    assert copied([("a", b"b")], "t", 3, 17) == [("a", b"b")]
