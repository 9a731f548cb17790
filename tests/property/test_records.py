"""Any records are unchanged by a batch; no bytes make the reader fail with an unexpected error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redis_ledger.errors import BadChecksum, CorruptBatch, TooLargeToDecode, UnsupportedCompression
from redis_ledger.records.batch import CRC_FROM, HEADER_BYTES, check, claim, place, read_header, split
from redis_ledger.records.budget import DEFAULT
from redis_ledger.records.build import encode
from redis_ledger.records.control import read_marker
from redis_ledger.records.partitioner import murmur2
from redis_ledger.records.read import Record, decode, decode_range
from tests.support.examples import examples

BATCH_BYTES_MAX = 1 << 20
LIMITS = DEFAULT._replace(decoded_bytes=1 << 20)  # small, so that a mutated length does not cost the test its time

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
headers = st.lists(st.tuples(texts, st.none() | st.binary(max_size=20)), max_size=3)
blobs = st.none() | st.binary(max_size=80) | st.integers(0, 5_000).map(lambda n: b"ab" * n)
times = st.integers(0, (1 << 63) - 1) | st.integers(1_700_000_000_000, 1_700_000_100_000)
records = st.lists(st.tuples(st.none() | st.binary(max_size=40), blobs, headers, times), min_size=1, max_size=12)
codecs = st.integers(0, 4)

# What is done, where in the range of bytes that may change, and with which bytes: those that end varints badly first.
edits = st.lists(
    st.tuples(
        st.sampled_from(["set", "insert", "delete"]),
        st.floats(0, 1, exclude_max=True),
        st.sampled_from([b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xfe" + b"\xff" * 8 + b"\x01"])
        | st.binary(min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=4,
)


def mutated(batch: bytes, changes: list[tuple[str, float, bytes]], *, from_byte: int, mend: bool) -> bytes:
    """The batch with some bytes changed behind `from_byte`; mend: its length is made to fit again, and its CRC."""
    out = bytearray(batch)
    for kind, where, new in changes:
        at = from_byte + int(where * (len(out) - from_byte))
        if kind == "set":
            out[at : at + len(new)] = new
        elif kind == "insert":
            out[at:at] = new
        else:
            del out[at : at + len(new)]
    if mend and len(out) >= HEADER_BYTES:
        out[8:12] = (len(out) - 12).to_bytes(4, "big")
        header = read_header(out)
        return claim(out, header.producer_id, header.producer_epoch, header.base_sequence, header.is_transactional)
    return bytes(out)


def outcome(read: Callable[[], Any]) -> tuple[Any, str]:
    """The decoded records, or the message of an expected refusal; every other exception fails the test."""
    try:
        return read(), ""
    except (CorruptBatch, BadChecksum, TooLargeToDecode, UnsupportedCompression) as refusal:
        return None, refusal.detail


def accepted(data: bytes) -> list[tuple[int, int]]:
    """For each batch, how many records it has and how many it says it has."""
    counts = []
    for header, view in split(data):
        check(header, view, batch_bytes_max=BATCH_BYTES_MAX)
        counts.append((len(decode(view, LIMITS)), header.count))
    return counts


@given(records, codecs, st.integers(0, 1 << 60))
def test_any_records_come_back_from_any_codec_and_any_offset(given_: list[Any], codec: int, base_offset: int) -> None:
    # When records are encoded, placed, checked and decoded
    batch = place(encode(given_, compression=codec), base_offset, 1)
    ((header, view),) = split(batch)
    check(header, view, batch_bytes_max=BATCH_BYTES_MAX)
    # Then they are what they were
    expected = [Record(base_offset + n, t, k, v, list(h)) for n, (k, v, h, t) in enumerate(given_)]
    assert decode(view) == expected
    assert (header.count, header.last_offset) == (len(given_), expected[-1].offset)
    assert header.max_timestamp == max(t for *_, t in given_)


@given(records, codecs, st.integers(-2, 14), st.integers(-2, 14))
def test_any_range_is_the_slice_of_the_whole(given_: list[Any], codec: int, first: int, last: int) -> None:
    batch = place(encode(given_, compression=codec), 100, 1)
    whole = decode(batch)
    assert decode_range(batch, 100 + first, 100 + last) == [r for r in whole if first <= r.offset - 100 <= last]


@given(st.lists(st.tuples(records, codecs), max_size=5), st.integers(0, 60))
def test_concatenated_batches_come_apart_where_they_were_joined(given_: list[Any], cut: int) -> None:
    parts = [encode(part, compression=codec) for part, codec in given_]
    assert [bytes(view) for _, view in split(b"".join(parts))] == parts
    # And a piece of a batch behind them is noticed
    if cut:
        whole = b"".join(parts)
        with pytest.raises(CorruptBatch, match=f"at byte {len(whole)}"):
            split(whole + encode([(None, b"x", (), 0)])[:cut])


@settings(max_examples=examples(400))
@given(records, codecs, edits, st.booleans())
def test_a_damaged_batch_is_refused_or_read_and_never_anything_else(
    given_: list[Any], codec: int, changes: list[Any], mend: bool
) -> None:
    # Given a batch whose records were tampered with, by one who can also make checksums
    batch = mutated(encode(given_, compression=codec), changes, from_byte=HEADER_BYTES if mend else 0, mend=mend)
    # Then it is either a batch with as many records as it says, or refused by name
    counts, refusal = outcome(lambda: accepted(batch))
    assert refusal if counts is None else all(decoded == said for decoded, said in counts)


@settings(max_examples=examples(300))
@given(records, codecs, edits)
def test_a_batch_with_a_damaged_header_is_refused_or_read_and_never_anything_else(
    given_: list[Any], codec: int, changes: list[Any]
) -> None:
    batch = mutated(encode(given_, compression=codec), changes, from_byte=CRC_FROM, mend=True)
    whole, refusal = outcome(lambda: decode(batch, LIMITS))
    part, _ = outcome(lambda: decode_range(batch, 0, 1 << 62, LIMITS))
    assert refusal if whole is None else part == [record for record in whole if record.offset >= 0]


@given(st.binary(max_size=200))
def test_no_bytes_at_all_surprise_the_readers(data: bytes) -> None:
    readers: list[Callable[[bytes], Any]] = [split, decode, read_header, read_marker]
    for read in readers:
        seen, refusal = outcome(partial(read, data))
        assert refusal.endswith(".") if seen is None else not refusal


@given(records, st.integers(0, (1 << 63) - 1), st.integers(0, 32_767), st.integers(0, (1 << 31) - 1), st.booleans())
def test_a_claimed_batch_keeps_its_records_and_passes_the_check(
    given_: list[Any], producer_id: int, epoch: int, sequence: int, transactional: bool
) -> None:
    batch = encode(given_)
    claimed = claim(batch, producer_id, epoch, sequence, transactional)
    ((header, view),) = split(claimed)
    check(header, view, batch_bytes_max=BATCH_BYTES_MAX)
    assert decode(claimed) == decode(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (producer_id, epoch, sequence)
    assert header.is_transactional is transactional


@given(st.binary(max_size=100))
def test_murmur2_is_a_signed_number_of_32_bits(data: bytes) -> None:
    assert -(1 << 31) <= murmur2(data) < 1 << 31
