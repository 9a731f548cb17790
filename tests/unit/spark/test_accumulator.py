"""Partition assignment of rows, and full batches."""

from __future__ import annotations

import pytest

from redis_ledger.client.batches import RECORDS_MAX, Entry
from redis_ledger.client.deliveries import Delivery
from redis_ledger.errors import InvalidRequest
from redis_ledger.records.partitioner import partition_for
from redis_ledger.spark import accumulator
from redis_ledger.spark.accumulator import Accumulator, ReadyBatch, Row

LATER = Delivery(at_ms=5)


def row(value: bytes, key: bytes | None = None, topic=None, partition=None, delivery=None) -> Row:
    return Row(topic, partition, Entry(key, value, (), 1, delivery))


def sent(held: Accumulator, *rows: Row) -> list[ReadyBatch]:
    return [parcel for each in rows for parcel in held.put(each)]


def shown(parcels: list[ReadyBatch]) -> list[tuple[str, int, int, list[bytes | None]]]:
    return [(p.topic, p.partition, p.sequence, [entry.value for entry in p.entries]) for p in parcels]


def test_a_key_goes_where_javas_client_would_put_it_and_keeps_its_order():
    held = Accumulator("t", lambda topic: 7, 1 << 20, 0)
    rows = [row(f"{n}".encode(), key=f"k{n % 3}".encode()) for n in range(9)]
    assert sent(held, *rows) == []
    rest = list(held.drain())
    assert {(p.partition, entry.key) for p in rest for entry in p.entries} == {
        (partition_for(key, 7), key) for key in (b"k0", b"k1", b"k2")
    }
    for parcel in rest:
        values = [entry.value or b"" for entry in parcel.entries]
        assert values == sorted(values)


def test_rows_without_a_key_fill_one_partition_then_the_next():
    held = Accumulator("t", lambda topic: 2, 100, 3)
    found = sent(held, *[row(b"x" * 76) for _ in range(4)])
    assert [p.partition for p in found] == [1, 0, 1, 0]


def test_a_column_says_topic_and_partition_unless_the_option_does():
    held = Accumulator(None, lambda topic: {"a": 1, "b": 4}[topic], 1 << 20, 0)
    sent(held, row(b"1", topic="a"), row(b"2", topic="b", partition=3, key=b"k"))
    assert shown(list(held.drain())) == [("a", 0, 0, [b"1"]), ("b", 3, 0, [b"2"])]
    held = Accumulator("t", lambda topic: 1, 1 << 20, 0)
    sent(held, row(b"1", topic="a"))
    assert shown(list(held.drain())) == [("t", 0, 0, [b"1"])]


@pytest.mark.parametrize(
    ("bad", "message"), [(row(b"v"), "null in the column topic"), (row(b"v", topic="t", partition=-1), "-1")]
)
def test_a_row_that_says_no_place_is_refused(bad, message):
    with pytest.raises(InvalidRequest, match=message):
        sent(Accumulator(None, lambda topic: 1, 1 << 20, 0), bad)


def test_sequences_go_on_from_parcel_to_parcel_of_one_partition():
    held = Accumulator("t", lambda topic: 1, 60, 0)
    found = shown(sent(held, *[row(b"%d" % n) for n in range(5)]) + list(held.drain()))
    assert found == [("t", 0, 0, [b"0", b"1"]), ("t", 0, 2, [b"2", b"3"]), ("t", 0, 4, [b"4"])]
    assert list(held.drain()) == []


def test_a_record_that_is_larger_than_a_batch_travels_alone():
    held = Accumulator("t", lambda topic: 1, 100, 0)
    found = shown(sent(held, row(b"a"), row(b"x" * 500), row(b"b")))
    assert [(sequence, len(values)) for _, _, sequence, values in found] == [(0, 1), (1, 1)]


def test_records_for_later_and_records_for_now_do_not_share_a_parcel():
    held = Accumulator("t", lambda topic: 1, 1 << 20, 0)
    found = sent(held, row(b"1"), row(b"2", delivery=LATER), row(b"3", delivery=LATER), row(b"4"))
    found += held.drain()
    assert [(p.is_delayed, p.sequence, len(p.entries)) for p in found] == [(False, 0, 1), (True, 1, 2), (False, 3, 1)]


def test_no_parcel_holds_more_records_than_a_broker_takes():
    held = Accumulator("t", lambda topic: 1, 1 << 30, 0)
    assert [len(p.entries) for p in sent(held, *[row(b"") for _ in range(RECORDS_MAX + 1)])] == [RECORDS_MAX]


def test_the_buffer_over_all_partitions_is_bounded(monkeypatch):
    monkeypatch.setattr(accumulator, "HELD_BYTES_MAX", 200)
    held = Accumulator("t", lambda topic: 100, 1 << 20, 0)
    found = sent(held, *[row(b"x" * 26, partition=n) for n in range(4)])
    assert sorted(p.partition for p in found) == [0, 1, 2, 3]
