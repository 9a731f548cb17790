"""Decoding all records at once gives the same result as one by one; all damage is refused."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.errors import CorruptBatch, TooLargeToDecode
from redis_ledger.ids import TopicPartition
from redis_ledger.records.batch import LOG_APPEND_TIME, place, read_header
from redis_ledger.records.budget import Limits
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode
from redis_ledger.spark import field_arrays
from redis_ledger.spark import rows as row_batches
from redis_ledger.spark.fetch import Chunk, matching_chunks
from redis_ledger.spark.field_arrays import Fields, fields, slices, unpacked
from redis_ledger.spark.filters import ALL, Bounds
from redis_ledger.spark.plan import Range
from redis_ledger.spark.rows import arrow_batches

ORDERS = TopicPartition("orders", 3)
contents = st.one_of(st.none(), st.binary(max_size=3), st.binary(min_size=60, max_size=70), st.just(b"x" * 9_000))
headers = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2)
records = st.tuples(contents, contents, headers, st.integers(0, 1 << 41))
batches = st.lists(st.tuples(st.lists(records, min_size=1, max_size=12), st.integers(0, 4)), min_size=1, max_size=4)


def log(made, first=0) -> bytes:
    """Returns adjacent batches, starting at the offset."""
    data = b""
    for rows, compression in made:
        data += place(encode(rows, compression=compression), first, 0)
        first += len(rows)
    return data


def chunks(data, first=0, end=1 << 60, bounds=ALL) -> list[Chunk]:
    return list(matching_chunks(data, Range(ORDERS, first, end), bounds))


def read(some) -> Fields:
    return fields([unpacked(chunk) for chunk in some])


def rows_of(found: Fields) -> list[tuple[object, ...]]:
    columns = found.offset.tolist(), found.timestamp_ms.tolist(), found.keys().to_pylist(), found.values().to_pylist()
    return list(zip(*columns, found.headers.tolist(), strict=True))


def one_by_one(some: list[Chunk]) -> list[tuple[object, ...]]:
    return [(r.offset, r.timestamp_ms, r.key, r.value, len(r.headers)) for chunk in some for r in chunk.records]


@given(batches, st.sampled_from([0, 1 << 33]))
def test_decoding_at_once_equals_one_by_one(made, first):
    some = chunks(log(made, first))
    assert rows_of(read(some)) == one_by_one(some)


@given(batches, st.integers(0, 20), st.integers(1, 20), st.integers(0, 1 << 41), st.integers(0, 1 << 41))
def test_records_outside_the_offset_and_time_ranges_are_left_out(made, first, count, from_ms, until_ms):
    some = chunks(log(made), first, first + count, Bounds(from_ms=from_ms, until_ms=until_ms))
    if some:
        assert rows_of(read(some)) == one_by_one(some)


def test_batches_of_several_responses_are_decoded_together():
    some = [*chunks(log([([(None, b"a", (), 1)], 0)])), *chunks(log([([(b"k", b"b", (), 2)], 0)], 1))]
    assert rows_of(read(some)) == [(0, 1, None, b"a", 0), (1, 2, b"k", b"b", 0)]


def test_log_append_time_replaces_record_timestamps():
    data = bytearray(log([([(None, b"a", (), 7), (None, b"b", (), 9)], 0), ([(None, b"c", (), 5)], 0)]))
    data[22] |= LOG_APPEND_TIME
    struct.pack_into(">q", data, 35, 1_000)
    some = chunks(bytes(data))
    assert read(some).timestamp_ms.tolist() == [1_000, 1_000, 5]
    assert [r.timestamp_ms for chunk in some for r in chunk.records] == [1_000, 1_000, 5]


@given(batches, st.data())
def test_damage_never_reads_outside_the_input(made, data):
    # Given batches with some damaged bytes in their records or headers
    good = log([(rows, 0) for rows, _ in made])
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(bad) - 1))
        if at >= 61:
            bad[at] = data.draw(st.integers(0, 255))
    # When they are decoded
    try:
        found = read(chunks(bytes(bad)))
    except CorruptBatch:
        return
    # Then all returned fields lie within the input, each record at its own position
    for at, size in ((found.key_at, found.key_size), (found.value_at, found.value_size)):
        assert (size >= -1).all()
        assert (at >= 0).all()
        assert (at + size <= len(bad)).all()
    found.keys().validate(full=True)
    found.values().validate(full=True)


def record(*fields_: int, size: int | None = None) -> bytes:
    body = bytes(fields_)
    return bytes([2 * (len(body) if size is None else size)]) + body


GOOD = (0, 0, 0, 1, 1, 0)  # attributes, times, offset, no key, no value, no headers


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (record(*GOOD, size=7), "extends beyond|does not end where"),
        (record(*GOOD, size=5), "does not end where"),
        (record(*GOOD) + b"\0", "does not end where"),
        (record(*GOOD, 0), "longer or shorter"),
        (record(0, 0, 0, 1, 2, 65), "longer or shorter|extends beyond"),
        (record(0, 0, 0, 1, 1, 2), "longer or shorter"),
        (record(0, 0, 0, 1, 1, 1, 0), "longer or shorter"),
        (record(0, 0, 0, 3, 1, 0), "invalid size"),
        (record(0, 0, 0, *[0xFE] * 9, 1, 1, 0), "invalid size"),
        (record(0, 0, 2, 1, 1, 0), "out of order"),
        (record(0, 0, 1, 1, 1, 0), "out of order"),
        (record(0, *[0x80] * 11, 1), "without an end"),
        (b"\x0d" + bytes(GOOD), "below 0"),
        (b"\x8c\x80\x80\x80\x80\x80\x00" + bytes(GOOD), "without an end"),
        (b"\x8c", "extends beyond"),
    ],
)
def test_a_record_with_inconsistent_lengths_is_refused(body, why):
    header = log([([(None, None, (), 0)], 0)])[:61]
    data = header[:8] + struct.pack(">i", 49 + len(body)) + header[12:] + body
    with pytest.raises(CorruptBatch, match=why):
        read(chunks(data))


def test_duplicate_offsets_are_refused():
    header = bytearray(log([([(None, None, (), 0)] * 2, 0)])[:61])
    body = record(*GOOD) * 2
    data = bytes(header[:8]) + struct.pack(">i", 49 + len(body)) + bytes(header[12:]) + body
    with pytest.raises(CorruptBatch, match="out of order"):
        read(chunks(data))
    with pytest.raises(CorruptBatch):
        decode(data)


def test_columns_have_the_types_of_the_schema():
    # Given a batch with headers and one of a transaction, and a schema as pyspark makes it
    data = log([([(b"k", None, [("h", b"1"), ("h", None)], 1_500), (None, b"v", (), 2)], 4)])
    data += place(
        encode([(None, b"w", (), 3)], producer_id=(2 << 48) + 7, epoch=0, sequence=0, transactional=True), 2, 0
    )
    pair = pa.struct([("key", pa.string()), ("value", pa.binary())])
    kinds = {
        "value": pa.binary(), "key": pa.binary(), "topic": pa.string(), "partition": pa.int32(), "offset": pa.int64(),
        "timestamp": pa.timestamp("us", "UTC"), "timestampType": pa.int32(), "headers": pa.list_(pair),
        "position": pa.string(), "transaction": pa.string(),
    }  # fmt: skip
    schema = pa.schema(list(kinds.items()))
    # When they are decoded
    (batch,) = arrow_batches(schema, ORDERS, chunks(data))
    # Then every column exists, with nulls where there is no value
    assert batch.schema == schema
    rows = batch.to_pylist()
    assert rows[0]["headers"] == [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert rows[0]["timestamp"].timestamp() == 1.5
    assert [row["headers"] is None for row in rows] == [False, True, True]
    assert [row["position"] for row in rows] == ["3:0", "3:1", "3:2"]
    assert [row["transaction"] is None for row in rows] == [True, True, False]
    assert [row["key"] for row in rows] == [b"k", None, None]
    assert [row["value"] for row in rows] == [None, b"v", b"w"]
    assert {(row["topic"], row["partition"], row["timestampType"]) for row in rows} == {("orders", 3, 0)}


def test_batches_that_decompress_to_much_are_not_grouped():
    # Given batches of a few bytes that decompress to a megabyte each
    data = log([([(None, bytes(1 << 20), (), 1)], 4)] * 3)
    assert len(data) < 10_000
    # When they are read, then each is a batch of its own
    schema = pa.schema([("value", pa.binary())])
    assert [batch.num_rows for batch in arrow_batches(schema, ORDERS, chunks(data))] == [1, 1, 1]


@pytest.mark.parametrize(
    ("oversized", "names"),
    [([(None, bytes(2_000), (), 1)], ["offset"]), ([(None, b"v", [("h", b"")] * 6, 1)], ["offset", "headers"])],
)
def test_a_batch_over_the_limits_fails_the_task_or_is_skipped(oversized, names):
    # Given three batches, of which the second is too large to decode
    small = [(None, b"v", [("h", b"")], 1)]
    data, limits = log([(small, 4), (oversized, 4), (small, 4)]), Limits(1_000, 5, 8)
    some = list(matching_chunks(data, Range(ORDERS, 0, 3), ALL, limits))
    pair = pa.struct([("key", pa.string()), ("value", pa.binary())])
    kinds = {"offset": pa.int64(), "headers": pa.list_(pair)}
    schema = pa.schema([(name, kinds[name]) for name in names])
    # When losses fail the query, then the error has advice; otherwise the other batches are read
    with pytest.raises(TooLargeToDecode, match=r"orders:3: the batch with offsets 1 to 1 .* failOnDataLoss"):
        list(arrow_batches(schema, ORDERS, some))
    found = arrow_batches(schema, ORDERS, some, fail_on_data_loss=False)
    assert [offset for batch in found for offset in batch.column("offset").to_pylist()] == [0, 2]


def test_a_batch_without_matching_records_gives_no_rows():
    # Given records with times before and after the requested range
    data = log([([(None, b"a", (), 1), (None, b"b", (), 9)], 0)])
    assert read_header(data).max_timestamp == 9
    # When they are read, then there are no rows
    schema = pa.schema([("offset", pa.int64())])
    assert list(arrow_batches(schema, ORDERS, chunks(data, bounds=Bounds(from_ms=4, until_ms=6)))) == []


PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])
CONTENT = pa.schema([("offset", pa.int64()), ("value", pa.binary()), ("headers", pa.list_(PAIR))])


def content_of(found) -> list[tuple[object, ...]]:
    lists = [
        [(each["key"], each["value"]) for each in row["headers"] or ()] for batch in found for row in batch.to_pylist()
    ]
    plain = [(row["offset"], row["value"]) for batch in found for row in batch.to_pylist()]
    return [(*each, headers) for each, headers in zip(plain, lists, strict=True)]


@pytest.mark.parametrize(("steps", "slice_bytes"), [(100, 8 << 20), (1, 8 << 20), (100, 30), (1, 1)])
@given(made=batches, first=st.integers(0, 9), end=st.integers(10, 40))
def test_columns_equal_one_by_one_in_slices_and_with_many_headers(steps, slice_bytes, made, first, end):
    some = chunks(log(made), first, end)
    expected = [(r.offset, r.value, list(r.headers)) for chunk in some for r in chunk.records]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(field_arrays, "STEPS_MAX", steps)
        patch.setattr(field_arrays, "SLICE_BYTES", slice_bytes)
        patch.setattr(row_batches, "SLICE_BYTES", slice_bytes)
        assert content_of(list(arrow_batches(CONTENT, ORDERS, some))) == expected


def test_a_batch_over_the_default_bound_is_read_in_slices_with_a_larger_one():
    # Given a batch that decompresses to 40 MiB
    data = log([([(None, bytes(1 << 20), [("h", b"")], 1)] * 40, 4)])
    some = list(matching_chunks(data, Range(ORDERS, 0, 40), ALL))
    # When it is read with the default bound, then it is refused
    with pytest.raises(TooLargeToDecode, match="batchDecodedBytesMax"):
        list(arrow_batches(CONTENT, ORDERS, some))
    # With a larger bound its rows are in several Arrow batches
    some = list(matching_chunks(data, Range(ORDERS, 0, 40), ALL, Limits(1 << 30, 5, 1 << 62)))
    found = list(arrow_batches(CONTENT, ORDERS, some))
    assert [row for batch in found for row in batch.column("offset").to_pylist()] == [*range(40)]
    assert max(batch.nbytes for batch in found) < 20 << 20


@pytest.mark.parametrize(
    ("limits", "setting"),
    [
        (Limits(1 << 30, 5, 1 << 62, 1_999), "record_bytes"),
        (Limits(1 << 30, 0, 1 << 62), "record_headers_max"),
        (Limits(1 << 30, 5, 3), "headers_max"),
    ],
)
def test_slices_check_the_whole_batch_before_its_first_row(limits, setting, monkeypatch):
    made = [(None, bytes(500), [("h", b"")], 1)] * 3 + [(None, bytes(2_000), [("h", b"")], 1)]
    [chunk] = matching_chunks(log([(made, 4)]), Range(ORDERS, 0, 4), ALL, limits)
    monkeypatch.setattr(field_arrays, "SLICE_BYTES", 600)
    with pytest.raises(TooLargeToDecode) as caught:
        slices(unpacked(chunk))
    assert caught.value.facts["setting"] == setting


@pytest.mark.parametrize("steps", [100, 0])
def test_damaged_headers_are_refused(steps, monkeypatch):
    monkeypatch.setattr(field_arrays, "STEPS_MAX", steps)
    # A record with one header: b"h" → b"xy"
    good = log([([(None, b"v", [("h", b"xy")], 1)], 0)])
    at = good.index(b"\x02h\x04xy")
    for damage in (b"\x01h\x04xy", b"\x02\xff\x04xy", b"\x02h\x03xy", b"\x02h\x06xy", b"\x02h\x02xy", b"\x7fh\x04xy"):
        data = good[:at] + damage + good[at + len(damage) :]
        with pytest.raises(CorruptBatch):
            list(arrow_batches(CONTENT, ORDERS, chunks(data)))
