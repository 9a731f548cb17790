"""Record batches: headers, splitting, validation, offsets and producer ids."""

from __future__ import annotations

import struct

import pytest
from aiokafka.record.default_records import _DefaultRecordBatchPy
from crc32c import crc32c

from redis_ledger.errors import BadChecksum, CorruptBatch, LedgerError, RequestTooLarge, UnsupportedCompression
from redis_ledger.records.batch import HEADER_BYTES, check, claim, empty, place, read_header, split
from redis_ledger.records.build import encode

TIME_MS = 1_700_000_000_000
RECORDS = [(b"k", b"one", (), TIME_MS), (None, b"two", [("h", b"x")], TIME_MS + 5), (b"k", None, (), TIME_MS + 3)]
BATCH = encode(RECORDS, producer_id=7, epoch=2, sequence=11, transactional=True)


def altered(at: int, kind: str, value: int, *, crc: bool = True, batch: bytes = BATCH) -> bytes:
    """Returns the batch with one field overwritten and, by default, a valid CRC."""
    changed = bytearray(batch)
    struct.pack_into(kind, changed, at, value)
    if crc:
        struct.pack_into(">I", changed, 17, crc32c(changed[21:]))
    return bytes(changed)


def judge(data: bytes, batch_bytes_max: int = 1 << 20) -> None:
    check(read_header(data), memoryview(data), batch_bytes_max=batch_bytes_max)


def test_header_has_every_field_of_the_batch() -> None:
    # Given a batch of three records placed at offset 100 in epoch 4
    header = read_header(b"??" + place(BATCH, 100, 4), 2)
    # Then each field is where the byte table says
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (100, 102, 4)
    assert (header.magic, header.count, header.last_offset_delta) == (2, 3, 2)
    assert (header.base_timestamp, header.max_timestamp) == (TIME_MS, TIME_MS + 5)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 11)
    assert (header.compression, header.is_transactional, header.is_control) == (0, True, False)
    assert header.size == header.length + 12 == len(BATCH)


def test_a_header_that_is_cut_short_is_refused() -> None:
    with pytest.raises(CorruptBatch, match="header of 61 bytes; 60 are left at byte 0"):
        read_header(BATCH[:60])


def test_concatenated_batches_are_cut_without_copying() -> None:
    # Given three batches of different codecs behind each other
    parts = [BATCH, encode(RECORDS, compression=4), encode(RECORDS[:1])]
    data = b"".join(parts)
    # When they are split
    cut = split(data)
    # Then each comes back whole, as a view of the data
    assert [bytes(view) for _, view in cut] == parts
    assert [header.count for header, _ in cut] == [3, 3, 1]
    assert all(view.obj is data for _, view in cut)


def test_no_bytes_hold_no_batches() -> None:
    assert split(b"") == []


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (BATCH[:5], "header of 61 bytes; 5 are left"),
        (BATCH[:60], "header of 61 bytes; 60 are left"),
        (BATCH[:-1], "bytes long, but only"),
        (BATCH + BATCH[:-1], f"at byte {len(BATCH)} is"),
        (BATCH + b"\0", f"1 are left at byte {len(BATCH)}"),
        (altered(8, ">i", 48), "says its length is 48; the header alone makes 49"),
        (altered(8, ">i", -1), "says its length is -1"),
        (altered(8, ">i", 2**31 - 1), "bytes long, but only"),
        (altered(16, ">b", 1), "has magic 1"),
        (altered(16, ">b", 0)[:34], "has magic 0"),
        (altered(57, ">i", 0), "says it holds 0 records"),
        (altered(57, ">i", -3), "says it holds -3 records"),
    ],
)
def test_bytes_that_are_not_whole_batches_are_refused_in_one_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(CorruptBatch, match=sentence):
        split(data)


@pytest.mark.parametrize("compression", range(5))
def test_a_sound_batch_passes(compression: int) -> None:
    data = encode(RECORDS, compression=compression)
    ((header, view),) = split(data)
    check(header, view, batch_bytes_max=len(data))
    assert header.compression == compression


@pytest.mark.parametrize(
    ("data", "error", "sentence"),
    [
        (altered(len(BATCH) - 1, ">B", 9, crc=False), BadChecksum, "its header says"),
        (altered(17, ">I", 0, crc=False), BadChecksum, "0x00000000"),
        (altered(43, ">q", 8, crc=False), BadChecksum, "send it again"),
        (altered(16, ">b", 1), CorruptBatch, "magic 1"),
        (altered(57, ">i", 2), CorruptBatch, "holds 2 records, but its last offset delta is 2"),
        (altered(23, ">i", 3), CorruptBatch, "last offset delta is 3"),
        (altered(23, ">i", -1, batch=altered(57, ">i", 0)), CorruptBatch, "holds 0 records"),
        (altered(21, ">h", 0x05), UnsupportedCompression, "compression 5"),
        (altered(21, ">h", 0x07), UnsupportedCompression, "4 \\(zstd\\)"),
        (altered(21, ">h", 0x30), CorruptBatch, "control batch"),
        (altered(8, ">i", 60), CorruptBatch, "says it is 72 bytes long"),
        (altered(23, ">i", 99, batch=altered(57, ">i", 100)), CorruptBatch, "holds 100 records; .* are too few"),
    ],
)
def test_a_batch_that_a_client_may_not_append_is_refused(data: bytes, error: type[LedgerError], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        judge(data)


def test_a_batch_above_the_limit_is_too_large_and_one_at_the_limit_is_not() -> None:
    judge(BATCH, len(BATCH))
    with pytest.raises(RequestTooLarge, match=f"takes at most {len(BATCH) - 1}"):
        judge(BATCH, len(BATCH) - 1)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_placing_a_batch_changes_its_first_sixteen_bytes_only(kind: type[bytes]) -> None:
    # When a batch is given its place
    placed = place(kind(BATCH), 2**62, 9)
    # Then offset and epoch are in, everything from the magic on is as it was, and the CRC still holds
    header = read_header(placed)
    assert (header.base_offset, header.leader_epoch, header.size) == (2**62, 9, len(BATCH))
    assert type(placed) is bytes
    assert placed[16:] == BATCH[16:]
    judge(placed)


@pytest.mark.parametrize("transactional", [True, False])
def test_a_claimed_batch_is_the_one_its_producer_would_have_sent(transactional: bool) -> None:
    # Given a batch without a producer, and the same records encoded for one
    foreign = encode(RECORDS, compression=1)
    own = encode(RECORDS, compression=1, producer_id=3 << 48 | 17, epoch=4, sequence=40, transactional=transactional)
    # When the first is claimed for the producer, also from the other transactional state
    claimed = claim(claim(foreign, 1, 1, 1, not transactional), 3 << 48 | 17, 4, 40, transactional)
    # Then nothing tells them apart
    assert claimed == own


def test_an_independent_reader_agrees_with_our_checksums() -> None:
    claimed = claim(place(BATCH, 5, 5), 99, 0, 0, transactional=False)
    assert _DefaultRecordBatchPy(claimed).validate_crc()
    assert len(claimed) > HEADER_BYTES


def test_an_empty_batch_has_the_offsets_of_the_records_that_are_gone() -> None:
    batch = empty(100, 4, 3, 7, 2, 11)
    header = read_header(batch)
    assert len(batch) == header.size == HEADER_BYTES
    assert (header.base_offset, header.last_offset, header.count) == (100, 102, 0)
    assert (header.leader_epoch, header.producer_id, header.producer_epoch, header.base_sequence) == (4, 7, 2, 11)
    assert (header.is_transactional, header.is_control) == (True, False)
    # aiokafka accepts it, and goes on behind it
    theirs = _DefaultRecordBatchPy(batch)
    assert theirs.validate_crc()
    assert (list(theirs), theirs.next_offset) == ([], 103)
