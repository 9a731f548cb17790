"""COMMIT and ABORT markers."""

from __future__ import annotations

import struct

import pytest
from aiokafka.record.control_record import ABORT_MARKER, COMMIT_MARKER, ControlRecord
from aiokafka.record.default_records import _DefaultRecordBatchPy

from redis_ledger.errors import CorruptBatch
from redis_ledger.records.batch import check, claim, read_header, split
from redis_ledger.records.build import encode
from redis_ledger.records.control import MARKER_BYTES, Marker, marker, read_marker

TIME_MS = 1_700_000_000_000


def control(key: bytes | None, value: bytes | None, count: int = 1) -> bytes:
    """A control batch of any records; its CRC is not looked at."""
    batch = bytearray(encode([(key, value, (), TIME_MS)] * count, transactional=True))
    struct.pack_into(">h", batch, 21, 0x30)
    return bytes(batch)


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_reads_back_as_it_was_written(commit: bool) -> None:
    written = Marker(1 << 40, 3, 5 << 48 | 9, 32_767, commit, 12, TIME_MS)
    assert read_marker(marker(*written)) == written


@pytest.mark.parametrize(("commit", "expected"), [(True, COMMIT_MARKER), (False, ABORT_MARKER)])
def test_an_independent_reader_takes_a_marker_for_what_it_is(commit: bool, expected: ControlRecord) -> None:
    # Given a marker read by aiokafka's reader in Python
    batch = _DefaultRecordBatchPy(marker(41, 1, 7, 2, commit, 0, TIME_MS))
    # Then its checksum holds and a consumer would see the end of producer 7's transaction
    assert batch.validate_crc()
    assert (batch.is_control_batch, batch.is_transactional, batch.producer_id, batch.producer_epoch) == (
        True,
        True,
        7,
        2,
    )
    (record,) = batch
    assert (record.offset, record.timestamp, record.value) == (41, TIME_MS, bytes(6))
    assert ControlRecord.parse(record.key or b"") == expected


def test_a_marker_has_the_bytes_an_encoder_of_ordinary_records_would_give_it() -> None:
    # Given the marker's key and value as an ordinary transactional record
    key, value = struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 6)
    ordinary = encode([(key, value, (), TIME_MS)], producer_id=7, epoch=2, transactional=True)
    # Then a marker differs from it in the control bit and so in the CRC
    made = marker(0, 0, 7, 2, True, 6, TIME_MS)
    assert len(made) == MARKER_BYTES == 78
    assert made[21:23] == b"\x00\x30"
    assert made[:17] + made[23:] == ordinary[:17] + ordinary[23:]


def test_a_marker_is_one_record_that_a_client_may_not_send() -> None:
    ((header, view),) = split(marker(9, 1, 7, 2, False, 0, TIME_MS))
    assert (header.count, header.last_offset, header.base_sequence) == (1, 9, -1)
    with pytest.raises(CorruptBatch, match="only the broker"):
        check(header, view, batch_bytes_max=1 << 20)


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        (encode([(b"k", b"v", (), TIME_MS)]), "not a control batch"),
        (control(struct.pack(">hh", 0, 2), bytes(6)), "type 2"),
        (control(struct.pack(">hh", 0, -1), bytes(6)), "type -1"),
        (control(None, None), "shape of a marker"),
        (control(bytes(3), bytes(6)), "shape of a marker"),
        (control(bytes(4), bytes(5)), "shape of a marker"),
        (control(bytes(4), bytes(6), count=2), "shape of a marker"),
        (marker(0, 0, 7, 2, True, 6, TIME_MS)[:-1], "77 were given"),
    ],
)
def test_a_batch_that_is_no_marker_is_refused(batch: bytes, sentence: str) -> None:
    with pytest.raises(CorruptBatch, match=sentence):
        read_marker(batch)


def test_a_marker_of_a_later_version_with_more_fields_is_read() -> None:
    later = claim(control(struct.pack(">hhq", 1, 1, 5), struct.pack(">hiq", 1, 8, 5)), 7, 1, -1, transactional=True)
    assert read_marker(later) == Marker(0, 0, 7, 1, True, 8, TIME_MS)
    assert read_header(later).is_control
