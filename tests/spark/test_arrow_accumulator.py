"""Rows accumulated as Arrow batches get the partitions and the bytes of rows accumulated one by one."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.client.batches import RECORDS_MAX, Entry
from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TxnId
from redis_ledger.records.batch import check, read_header
from redis_ledger.records.build import encode
from redis_ledger.records.partitioner import partition_for
from redis_ledger.records.read import decode
from redis_ledger.spark import accumulator, arrow_accumulator
from redis_ledger.spark.accumulator import Accumulator, Row
from redis_ledger.spark.arrow_accumulator import ArrowAccumulator, ArrowBatch
from redis_ledger.spark.hashing import STEPS_MAX, partitions_of

TXN = TxnId(3, 44)
PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])
KINDS = {
    "key": pa.binary(), "value": pa.binary(), "headers": pa.list_(PAIR), "topic": pa.string(), "partition": pa.int32(),
    "timestamp": pa.timestamp("us", "UTC"),
}  # fmt: skip
BATCH_BYTES, GZIP = 400, 1

contents = st.none() | st.binary(max_size=5) | st.binary(min_size=100, max_size=150)
headers = st.none() | st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2)
row = st.fixed_dictionaries(
    {
        "key": contents,
        "value": contents | st.just(b"x" * 1_000),
        "headers": headers.map(lambda some: None if some is None else [{"key": k, "value": v} for k, v in some]),
        "topic": st.sampled_from(["a", "b"]),
        "partition": st.none() | st.integers(0, 3),
        "timestamp": st.integers(0, 1 << 50),
    }
)
parts = st.lists(st.lists(row, max_size=30), max_size=4)
columns = st.sets(st.sampled_from(["key", "headers", "topic", "partition", "timestamp"]))


def batch(rows, names=tuple(KINDS)) -> pa.RecordBatch:
    schema = pa.schema([(name, kind) for name, kind in KINDS.items() if name in {*names, "value"}])
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def batches_of(held: ArrowAccumulator, batches) -> list[ArrowBatch]:
    return [one_batch for each in batches for one_batch in held.put(each)] + list(held.drain())


def arrived(sent) -> dict[tuple[str, int], list[object]]:
    """Returns the records of each partition, in order: key, value, headers, time."""
    found: defaultdict[tuple[str, int], list[object]] = defaultdict(list)
    for each in sent:
        data = each.batch(0, TXN)
        header = read_header(data)
        check(header, data, batch_bytes_max=1 << 30)
        at = found[each.topic, each.partition]
        assert (header.base_sequence, header.producer_id) == (len(at), TXN.producer_id)
        records = decode(data)
        assert header.max_timestamp == max(record.timestamp_ms for record in records)
        at += [(r.key, r.value, [*r.headers], r.timestamp_ms) for r in records]
    return dict(found)


def entry(each) -> Entry:
    pairs = [(pair["key"], pair["value"]) for pair in each.get("headers") or ()]
    return Entry(each.get("key"), each["value"], pairs, each["timestamp"] // 1_000)


@given(parts, columns)
def test_rows_keep_their_partition_or_get_one_each_once_and_in_order(made, names):
    # Given rows in several batches with some of the columns
    names |= {"timestamp"}
    topic = None if "topic" in names else "t"
    rows = [
        {name: value for name, value in each.items() if name in {*names, "value"}} for some in made for each in some
    ]
    counts = {"a": 4, "b": 7, "t": 5}
    # When they are accumulated
    held = ArrowAccumulator(topic, counts.__getitem__, BATCH_BYTES, 2)
    found = arrived(batches_of(held, [batch(some, names) for some in made]))
    # Then a partition has the rows that name it, or whose key selects it, and the others are spread
    expected = defaultdict(list)
    for each in rows:
        where = each.get("topic", "t")
        place, key = each.get("partition"), each.get("key")
        if place is None and key is not None:
            place = partition_for(key, counts[where])
        made_of = entry(each)
        expected[where, place].append((made_of.key, made_of.value, made_of.headers, made_of.timestamp_ms))
    for (where, place), rows_of_partition in expected.items():
        if place is not None:
            left = iter(found[where, place])
            assert all(any(one == other for other in left) for one in rows_of_partition)
    every = [(where, record) for (where, _), some in found.items() for record in some]
    assert sorted(map(repr, every)) == sorted(
        repr((where, record)) for (where, _), some in expected.items() for record in some
    )
    assert all(0 <= place < counts[where] for where, place in found)


@given(parts)
def test_no_batch_exceeds_its_limit_unless_a_single_record_does(made):
    for one_batch in batches_of(ArrowAccumulator("t", lambda topic: 2, BATCH_BYTES, 0), [batch(some) for some in made]):
        assert one_batch.count == 1 or one_batch.size <= BATCH_BYTES


@pytest.mark.parametrize("compression", range(5))
def test_the_bytes_equal_those_of_the_row_accumulator(compression):
    # Given rows of one partition that make one batch
    rows = [
        {"key": b"k", "value": b"v" * 50, "headers": [{"key": "h", "value": b"1"}], "timestamp": 5_000},
        {"key": None, "value": None, "headers": None, "timestamp": 3_999},
        {"key": b"", "value": b"", "headers": [], "timestamp": 9_000_000},
    ]
    # When they are encoded in both ways
    (one_batch,) = batches_of(
        ArrowAccumulator("t", lambda topic: 1, 1 << 20, 0), [batch(rows, ("key", "headers", "timestamp"))]
    )
    held = Accumulator("t", lambda topic: 1, 1 << 20, 0)
    for each in rows:
        assert list(held.put(Row("t", None, entry(each)))) == []
    (parcel,) = held.drain()
    # Then the bytes are equal, except for gzip, which has the time in its header
    one, other = one_batch.batch(compression, TXN), parcel.batch(compression, TXN)
    assert one == other or compression == GZIP
    assert decode(one) == decode(other)


def test_rows_without_a_key_fill_one_partition_then_the_next():
    held = ArrowAccumulator("t", lambda topic: 3, 200, 1)
    rows = batch([{"value": b"x" * 76}] * 4, ())
    found = [sorted(one_batch.partition for one_batch in held.put(rows)) for _ in range(3)]
    assert found == [[1, 2], [0, 1], [0, 2]]
    assert list(held.drain()) == []


def test_a_batch_has_no_more_records_than_the_broker_accepts():
    held = ArrowAccumulator("t", lambda topic: 1, 1 << 30, 0)
    found = batches_of(held, [batch([{"value": b""}] * (RECORDS_MAX - 1), ())] * 3)
    assert [one_batch.count for one_batch in found] == [RECORDS_MAX, RECORDS_MAX, RECORDS_MAX - 3]
    assert [one_batch.sequence for one_batch in found] == [0, RECORDS_MAX, 2 * RECORDS_MAX]


def test_the_buffer_over_all_partitions_has_a_limit(monkeypatch):
    monkeypatch.setattr(arrow_accumulator, "HELD_BYTES_MAX", 1_000)
    rows = [{"key": b"%d" % number, "value": b"x" * 60} for number in range(20)]
    assert accumulator.HELD_BYTES_MAX > 1_000
    assert len(list(ArrowAccumulator("t", lambda topic: 20, 1 << 20, 0).put(batch(rows, ("key",))))) > 1


def test_a_large_batch_is_encoded_in_steps(monkeypatch):
    monkeypatch.setattr(arrow_accumulator, "STEP_BYTES", 500)
    rows = [{"value": b"%03d" % number * 100} for number in range(50)]
    (one_batch,) = batches_of(ArrowAccumulator("t", lambda topic: 1, 1 << 20, 0), [batch(rows, ())])
    assert [record.value for record in decode(one_batch.batch(0, TXN))] == [each["value"] for each in rows]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"topic": None}, "null in the column topic"),
        ({"topic": "a", "partition": -3}, "has -3 in the column partition"),
        ({"topic": "a", "timestamp": -1}, "timestamp is -1"),
        ({"topic": "a", "headers": [{"key": None, "value": b""}]}, "header without a name"),
        ({"topic": "a", "headers": [None]}, "header without a name"),
    ],
)
def test_an_invalid_row_is_refused(bad, message):
    rows = [{"value": b"", "topic": "a", "timestamp": 1}, {"value": b"", "timestamp": 1, **bad}]
    with pytest.raises(InvalidRequest, match=message):
        batches_of(ArrowAccumulator(None, lambda topic: 1, 1 << 20, 0), [batch(rows)])


def test_text_is_written_as_utf8():
    columns_ = {"value": pa.array(["ä"], pa.large_string()), "key": pa.array(["ö"])}
    (one_batch,) = batches_of(
        ArrowAccumulator("t", lambda topic: 1, 1 << 20, 0), [pa.RecordBatch.from_pydict(columns_)]
    )
    (record,) = decode(one_batch.batch(0, TXN))
    assert (record.key, record.value) == ("ö".encode(), "ä".encode())


@given(
    st.lists(st.none() | st.binary(max_size=20) | st.binary(min_size=250, max_size=270), min_size=1), st.integers(1, 9)
)
def test_keys_get_the_partition_of_javas_client(keys, partitions):
    column = pa.array([b"before", *keys], pa.binary()).slice(1)
    found = partitions_of(column, partitions).tolist()
    assert [at for at, key in zip(found, keys, strict=True) if key is not None] == [
        partition_for(key, partitions) for key in keys if key is not None
    ]


def test_a_long_key_too():
    key = b"k" * (4 * STEPS_MAX + 1)
    assert partitions_of(pa.array([key, b"", key + b"k"]), 100).tolist() == [
        partition_for(each, 100) for each in (key, b"", key + b"k")
    ]


def test_encode_matches_both_accumulators():
    held = Accumulator("t", lambda topic: 1, 1 << 20, 0)
    list(held.put(Row("t", None, Entry(b"k", b"v", (), 1))))
    (parcel,) = held.drain()
    made = encode([(b"k", b"v", (), 1)], producer_id=TXN.producer_id, epoch=0, sequence=0, transactional=True)
    assert parcel.batch(0, TXN) == made
