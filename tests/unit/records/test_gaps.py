"""Batches with gaps in their offsets: readable within the header's limits, and refused from producers."""

from __future__ import annotations

import pytest
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from crc32c import crc32c

from redis_ledger.errors import CorruptBatch
from redis_ledger.records.batch import check, place, read_header, split
from redis_ledger.records.read import decode, decode_range

DELTAS = (0, 3, 4, 9)


def gapped(deltas=DELTAS, last_delta: int | None = None, compression: int = 0, base: int = 100) -> bytes:
    builder = _DefaultRecordBatchBuilderPy(2, compression, False, -1, -1, -1, 1 << 20)
    for delta in deltas:
        builder.append(delta, 1_000 + delta, None, b"%d" % delta, [])
    batch = bytearray(builder.build())
    batch[23:27] = (deltas[-1] if last_delta is None else last_delta).to_bytes(4, "big")
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return place(batch, base, 0)


@pytest.mark.parametrize("compression", [0, 1, 4])
@pytest.mark.parametrize("last_delta", [9, 20])
def test_records_have_the_offsets_that_their_deltas_say(compression, last_delta):
    data = gapped(compression=compression, last_delta=last_delta)
    found = decode(data)
    assert [(r.offset, r.value) for r in found] == [(100 + delta, b"%d" % delta) for delta in DELTAS]
    ((header, _),) = split(data)
    assert header.last_offset == 100 + last_delta


@pytest.mark.parametrize(
    ("first", "last", "deltas"),
    [(0, 200, DELTAS), (100, 100, (0,)), (101, 102, ()), (101, 104, (3, 4)), (104, 108, (4,)), (110, 200, ())],
)
def test_a_range_holds_the_records_that_there_are(first, last, deltas):
    assert [r.offset - 100 for r in decode_range(gapped(), first, last)] == list(deltas)


def test_the_first_record_may_come_later_than_the_batch_begins():
    assert [r.offset for r in decode(gapped((2, 5)))] == [102, 105]


@pytest.mark.parametrize("deltas", [(0, 3, 3, 9), (0, 4, 3, 9), (0, 3, 12, 9)], ids=["twice", "back", "beyond"])
def test_offsets_that_do_not_ascend_make_a_corrupt_batch(deltas):
    with pytest.raises(CorruptBatch, match="do not ascend"):
        decode(gapped(deltas, last_delta=9))
    with pytest.raises(CorruptBatch):
        decode_range(gapped(deltas, last_delta=9), 0, 200)


def test_more_records_than_offsets_make_a_corrupt_batch():
    with pytest.raises(CorruptBatch, match="last offset delta is 2"):
        decode(gapped((0, 1, 2, 3), last_delta=2))


def test_a_batch_that_claims_no_gaps_may_have_none():
    with pytest.raises(CorruptBatch, match="count up from 0"):
        decode(gapped((0, 2, 3, 3), last_delta=3))


def test_gaps_are_not_taken_from_a_producer():
    data = gapped()
    with pytest.raises(CorruptBatch, match="holds 4 records, but its last offset delta is 9"):
        check(read_header(data), data, batch_bytes_max=1 << 20)
