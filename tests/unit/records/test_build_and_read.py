"""Encoding and decoding, against aiokafka's independent encoder in Python, and against damage."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import cramjam
import pytest
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy

from redis_ledger.errors import CorruptBatch, InvalidRequest, TooLargeToDecode, UnsupportedCompression
from redis_ledger.records.batch import HEADER, HEADER_BYTES, place, read_header
from redis_ledger.records.budget import DEFAULT
from redis_ledger.records.build import Headers, encode
from redis_ledger.records.compression import SNAPPY
from redis_ledger.records.read import Record, decode, decode_range

TIME_MS = 1_700_000_000_000
NewRecord = tuple[bytes | None, bytes | None, Headers, int]
RECORDS: list[NewRecord] = [
    (b"key", b"value", (), TIME_MS),
    (None, b"v" * 300, [("name", b"x"), ("größe", None), ("", b"")], TIME_MS + 70_000),
    (b"", None, (), TIME_MS - 1),
    (b"k" * 100, b"", (("n", b"y"),), TIME_MS),
]


def golden(records: Sequence[NewRecord], compression: int, *producer: int, transactional: bool) -> bytes:
    """What aiokafka's encoder in Python makes of the records; it leaves the leader epoch at -1."""
    builder = _DefaultRecordBatchBuilderPy(2, compression, int(transactional), *producer, 1 << 30)
    for offset, (key, value, headers, timestamp_ms) in enumerate(records):
        builder.append(offset, timestamp_ms, key, value, list(headers))
    return place(bytes(builder.build()), 0, 0)


def batch_of(body: bytes, *, count: int = 1, attributes: int = 0, base_timestamp: int = TIME_MS) -> bytes:
    """A batch around bytes that need not be records; its CRC is left at 0, for decoding does not look."""
    times = (base_timestamp, TIME_MS + 9)
    return HEADER.pack(0, 49 + len(body), 0, 2, 0, attributes, count - 1, *times, -1, -1, -1, count) + body


def packed(compression: int, body: bytes, count: int = 1) -> bytes:
    return batch_of(body, attributes=compression, count=count)


ONE = bytes.fromhex("1c 00 00 00 06 6b6579 0a 76616c7565 00".replace(" ", ""))  # key "key", value "value", no headers
NO_TIME = bytes([12, 0, 1, 0, 1, 1, 0])  # nulls; one millisecond before the batch


@pytest.mark.parametrize("compression", range(5))
@pytest.mark.parametrize("transactional", [False, True])
def test_a_batch_is_byte_for_byte_what_an_independent_encoder_makes(compression: int, transactional: bool) -> None:
    ours = encode(
        RECORDS, compression=compression, producer_id=1 << 50, epoch=3, sequence=77, transactional=transactional
    )
    # A batch that an encoder had to leave uncompressed would not test the codec
    assert read_header(ours).compression == compression
    assert ours == golden(RECORDS, compression, 1 << 50, 3, 77, transactional=transactional)


def test_a_batch_of_one_record_has_these_very_bytes() -> None:
    assert encode([(b"key", b"value", (), TIME_MS)]).hex() == (
        "0000000000000000" "00000040" "00000000" "02" "db5e9cdd" "0000" "00000000"
        "0000018bcfe56800" "0000018bcfe56800" "ffffffffffffffff" "ffff" "ffffffff" "00000001" + ONE.hex()
    )  # fmt: skip


@pytest.mark.parametrize("compression", range(5))
def test_records_come_back_as_they_were_with_their_offsets(compression: int) -> None:
    # Given a batch that was placed at offset 1000
    batch = place(encode(RECORDS, compression=compression), 1_000, 2)
    # When it is decoded, from bytes or from a view of them
    records = decode(batch)
    # Then nothing is lost
    assert records == [
        Record(1_000 + index, timestamp_ms, key, value, list(headers))
        for index, (key, value, headers, timestamp_ms) in enumerate(RECORDS)
    ]
    assert decode(memoryview(batch)) == records


@pytest.mark.parametrize("compression", [0, 4])
@pytest.mark.parametrize(
    ("first", "last", "seen"),
    [
        (1_001, 1_002, [1_001, 1_002]),
        (0, 1_000, [1_000]),
        (1_003, 9_999, [1_003]),
        (0, 9_999, [1_000, 1_001, 1_002, 1_003]),
        (0, 999, []),
        (1_004, 2_000, []),
        (1_002, 1_001, []),
    ],
)
def test_a_range_of_a_batch_holds_the_offsets_asked_for(
    compression: int, first: int, last: int, seen: list[int]
) -> None:
    batch = place(encode(RECORDS, compression=compression), 1_000, 2)
    assert [record.offset for record in decode_range(batch, first, last)] == seen


def test_a_range_is_decoded_no_further_than_its_end() -> None:
    # Given four records, the last of which says it has -64 headers
    batch = encode(RECORDS[:1] * 4)[:-1] + b"\x7f"
    # Then the records in front of the damage can be had, and the whole cannot
    assert [record.offset for record in decode_range(batch, 0, 2)] == [0, 1, 2]
    with pytest.raises(CorruptBatch, match="headers -64"):
        decode(batch)


def test_an_append_time_batch_gives_all_its_records_the_time_of_the_batch() -> None:
    two = ONE + ONE[:3] + b"\x02" + ONE[4:]
    times = [record.timestamp_ms for record in decode(batch_of(two, count=2, attributes=0x08))]
    assert times == [TIME_MS + 9, TIME_MS + 9]


def test_a_record_without_a_time_has_minus_one() -> None:
    assert decode(batch_of(NO_TIME, base_timestamp=0)) == [Record(0, -1, None, None, [])]


@pytest.mark.parametrize("timestamp_ms", [-1, -TIME_MS, 1 << 63])
def test_a_time_that_cannot_be_written_is_refused(timestamp_ms: int) -> None:
    with pytest.raises(InvalidRequest, match="timestamp"):
        encode([(None, b"x", (), TIME_MS), (None, b"x", (), timestamp_ms)])


def test_a_header_name_that_is_not_text_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="surrogates"):
        encode([(None, b"x", [("\ud800", b"")], TIME_MS)])


def test_an_empty_batch_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(AssertionError, match="at least one"):
        encode([])


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "too few"),
        (ONE[:-1], "cannot be read"),
        (ONE[:6], "too few"),
        (b"\x80" * 7, "cannot be read"),  # a varint that does not end
        (b"\xff" * 40, "cannot be read"),  # nor within 64 bits
        (ONE + b"\0", "unconsumed"),
        (b"\x1e" + ONE[1:], "record size"),
        (ONE[:4] + b"\x7e" + ONE[5:], "Can't read 63 bytes"),  # a key that runs out of the record
        (ONE[:4] + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" + ONE[5:], "cannot be read"),  # of 2^63-1 bytes
        (ONE[:-1] + b"\x01", "headers -1"),
        (ONE[:-1] + b"\xfe\xff\xff\xff\x0f", "cannot be read"),  # of two thousand million headers
        (ONE[:-1] + b"\x02\x01\x00", "header key size"),
        (b"\x22" + ONE[1:-1] + b"\x02\x02\xff\x01", "codec can't decode"),
        (ONE[:3] + b"\x02" + ONE[4:], "offset deltas"),
        (ONE[:3] + b"\x01" + ONE[4:], "offset deltas"),
    ],
)
def test_records_that_cannot_be_read_make_a_corrupt_batch(body: bytes, sentence: str) -> None:
    with pytest.raises(CorruptBatch, match=sentence):
        decode(batch_of(body))


def test_two_records_of_one_offset_make_a_corrupt_batch() -> None:
    with pytest.raises(CorruptBatch, match="one by one"):
        decode(batch_of(ONE + ONE, count=2))


def test_more_records_than_the_bytes_can_hold_are_not_even_tried() -> None:
    with pytest.raises(CorruptBatch, match="too few"):
        decode(batch_of(ONE, count=(1 << 31) - 1))


def test_a_header_that_contradicts_the_bytes_is_refused() -> None:
    batch = batch_of(ONE)
    with pytest.raises(CorruptBatch, match="76 bytes long, but 75"):
        decode(batch[:-1])
    with pytest.raises(CorruptBatch, match="76 bytes long, but 77"):
        decode(batch + b"!")
    with pytest.raises(UnsupportedCompression, match="compression 6"):
        decode(batch_of(ONE, attributes=6))


def test_snappy_is_written_in_xerials_frame_and_read_with_and_without_it() -> None:
    # Given records that need three of the frame's blocks of 32 KiB
    records: list[NewRecord] = [(None, bytes([n]) * 30_000, (), TIME_MS) for n in range(3)]
    framed = encode(records, compression=SNAPPY)
    plain = encode(records)
    raw = packed(SNAPPY, bytes(cramjam.snappy.compress_raw(plain[HEADER_BYTES:])), 3)
    # Then Java's magic heads the frame, and both dresses read the same
    assert framed[HEADER_BYTES : HEADER_BYTES + 16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    assert decode(framed) == decode(raw) == decode(plain)


@pytest.mark.parametrize(
    "blocks",
    [b"\0\0", b"\0\0\0\x7f" + b"abc", b"\xff\xff\xff\xff" + b"abc", b"\0\0\0\0", b"\0\0\0\x03abc", b"\0\0\0\x01\xff"],
)
def test_a_broken_snappy_frame_is_a_corrupt_batch(blocks: bytes) -> None:
    with pytest.raises(CorruptBatch, match="snappy"):
        decode(packed(SNAPPY, b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + blocks))


@pytest.mark.parametrize("compression", range(1, 5))
def test_a_batch_may_not_unpack_to_more_than_it_is_allowed(compression: int) -> None:
    # Given a megabyte of zeros that packs into little
    bomb = encode([(None, bytes(1 << 20), (), TIME_MS)], compression=compression)
    assert len(bomb) < 64 << 10
    # Then it opens where it fits, and not where it is one byte too long
    unpacked = len(encode([(None, bytes(1 << 20), (), TIME_MS)])) - HEADER_BYTES
    assert len(decode(bomb, DEFAULT._replace(decoded_bytes=unpacked))[0].value or b"") == 1 << 20
    with pytest.raises(TooLargeToDecode, match=f"more than {unpacked - 1} bytes .*batch_decoded_bytes_max"):
        decode(bomb, DEFAULT._replace(decoded_bytes=unpacked - 1))


def test_snappy_is_believed_about_its_size_only_when_that_fits() -> None:
    # Given a block that says it unpacks to 4 GiB
    with pytest.raises(TooLargeToDecode, match="batch_decoded_bytes_max"):
        decode(packed(SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(8)))


@pytest.mark.parametrize("compression", range(1, 5))
@pytest.mark.parametrize("junk", [b"", b"junk", bytes(40)])
def test_records_that_are_not_packed_as_the_header_says_make_a_corrupt_batch(compression: int, junk: bytes) -> None:
    with pytest.raises(CorruptBatch):
        decode(packed(compression, junk))
