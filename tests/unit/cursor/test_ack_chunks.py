"""redis_ledger/cursor/ack_chunks: reads what lua/include/acks stores (tests/lua/test_cursor_acks_stored.py)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from redis_ledger.cursor import ack_chunks
from redis_ledger.cursor.ack_chunks import CHUNK
from redis_ledger.cursor.ranges import Range, to_ranges
from tests.support.examples import examples


def test_a_chunk_is_the_union_of_its_forms():
    fields = {b"": b"", b"8e90": b"\x02\x02", b"9e91": b"\x05\x01", b"1": b"\x80", b"9e92": b"\x00\x01"}
    assert ack_chunks.ranges(fields, 0, 1 << 60) == [
        Range(CHUNK, CHUNK), Range(CHUNK + 5, CHUNK + 5), Range(2 * CHUNK, 4 * CHUNK - 1),
    ]  # fmt: skip
    assert ack_chunks.bitmap(fields, 1) == b"\x84".ljust(1024, b"\0")
    assert ack_chunks.bitmap(fields, 2) == ack_chunks.bitmap(fields, 3) == b"\xff" * 1024
    assert ack_chunks.bitmap(fields, 4) == bytes(1024)


def test_chunks_of_one_group_share_its_field():
    last = CHUNK - 1
    assert ack_chunks.names((last, CHUNK)) == [
        b"8e90", b"9e9%d" % last, b"%d" % last, b"8e91", b"9e9%d" % CHUNK, b"%d" % CHUNK,
    ]  # fmt: skip


def test_a_full_chunk_is_taken_out_of_its_group():
    fields = {b"8e90": b"\x02\x03"}
    assert ack_chunks.without(fields, 5) is None
    left = ack_chunks.without(fields, 3)
    assert left is not None
    assert ack_chunks.ranges({b"8e90": left}, 0, 1 << 60) == [
        Range(2 * CHUNK, 3 * CHUNK - 1), Range(4 * CHUNK, 5 * CHUNK - 1),
    ]  # fmt: skip


def test_fields_that_reach_beyond_an_offset_are_found_in_every_form():
    fields = (b"", b"8e90", b"8e91", b"9e91", b"9e92", b"1", b"2", b"x")
    assert ack_chunks.beyond(fields, 2 * CHUNK) == [b"8e90", b"8e91", b"9e92", b"2"]


@settings(max_examples=examples(300))
@given(
    st.dictionaries(
        st.one_of(
            st.builds(b"%s%d".__mod__, st.tuples(st.sampled_from([b"", b"8e9", b"9e9"]), st.integers(0, 3))),
            st.binary(max_size=4),
        ),
        st.binary(max_size=1_100),
        max_size=6,
    )
)
def test_the_readers_agree_about_any_stored_bytes(fields):
    chunks = range(4)
    found = ack_chunks.bitmaps(chunks, [fields.get(name) for name in ack_chunks.names(chunks)])
    one = [Range(*each) for each in ack_chunks.ranges(fields, 0, 4 * CHUNK)]
    text = "".join(f"{int.from_bytes(found.get(chunk, bytes(1024)), 'big'):08192b}" for chunk in chunks)
    assert to_ranges(at for at, bit in enumerate(text) if bit == "1") == one
