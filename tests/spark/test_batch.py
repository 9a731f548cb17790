"""Batch reads of a topic."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from redis_ledger import errors
from tests.spark.conftest import texts

T0 = 1_767_268_800_000  # 2026-01-01 12:00 UTC
KAFKAS = [
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
]
HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])


def test_columns_are_those_of_sparks_kafka_connector_and_optional_ones(topic):
    orders = topic()
    assert orders.read().schema == StructType(KAFKAS)
    assert orders.read(includeHeaders="true").schema.fields[7:] == [StructField("headers", ArrayType(HEADER))]
    extra = [StructField("position", StringType()), StructField("transaction", StringType())]
    assert orders.read(includePosition="true").schema.fields[7:] == extra


def test_records_are_read_as_written(topic, client):
    # Given a plain record, a tombstone, and one of a transaction
    orders = topic(2)
    orders.send(b"\xff\x00", partition=1, key=b"k", headers=[("a", b"1"), ("a", b"2"), ("b", None)], timestamp_ms=T0)
    orders.send(None, partition=1, timestamp_ms=T0 + 1)
    with client.transaction() as txn:
        txn.begin()
        txn.send(orders.name, "in a transaction", partition=1)
    # When they are read with all columns
    frame = orders.read(includeHeaders="true", includePosition="true")
    first, second, third = sorted(frame.collect(), key=lambda row: row.offset)
    # Then they are complete
    assert (first.key, first.value, first.topic, first.partition, first.offset) == (
        b"k",
        b"\xff\x00",
        orders.name,
        1,
        0,
    )
    assert first.timestamp.replace(tzinfo=UTC) == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert first.timestampType == 0
    assert [tuple(header) for header in first.headers] == [("a", b"1"), ("a", b"2"), ("b", None)]
    assert (first.position, first.transaction) == ("1:0", None)
    assert (second.key, second.value, second.headers) == (None, None, None)
    assert (bytes(third.value), third.position, third.transaction) == (b"in a transaction", "1:2", str(txn.id))


def test_only_uncommitted_readers_see_undecided_and_aborted_records(topic, client):
    orders = topic()
    orders.send("a")
    aborted = client.transaction()
    aborted.send(orders.name, "aborted").result()
    aborted.abort()
    orders.send("b")
    undecided = client.transaction()
    undecided.send(orders.name, "undecided").result()
    orders.send("behind it")
    assert orders.values() == ["a", "b"]
    assert orders.values(isolation="read_uncommitted") == ["a", "aborted", "b", "undecided", "behind it"]
    undecided.commit()
    assert orders.values() == ["a", "b", "undecided", "behind it"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["0", "1", "2", "3", "4", "5", "6", "7"]),
        ({"startingOffsets": {"T": {"0": 2, "1": -2}}}, ["2", "3", "4", "5", "6", "7"]),
        ({"endingOffsets": {"T": {"0": -1, "1": 1}}}, ["0", "1", "2", "3", "4"]),
        ({"startingOffsets": {"T": {"0": 1, "1": 1}}, "endingOffsets": {"T": {"0": 2, "1": 1}}}, ["1"]),
        ({"startingTimestamp": f"{T0 + 2}"}, ["2", "3", "6", "7"]),
        ({"endingTimestamp": f"{T0 + 1}"}, ["0", "4"]),
        ({"startingOffsetsByTimestamp": {"T": {"0": T0 + 3, "1": 0}}}, ["3", "4", "5", "6", "7"]),
        ({"endingOffsetsByTimestamp": {"T": {"0": 0, "1": T0 + 99}}}, ["4", "5", "6", "7"]),
        ({"startingTimestamp": f"{T0 + 99}", "startingOffsetsByTimestampStrategy": "latest"}, []),
    ],
)
def test_a_range_can_be_given_by_offset_and_by_time(topic, options, expected):
    # Given values 0 to 3 in one partition and 4 to 7 in the other, at times 0 to 3 in both
    orders = topic(2)
    for value in range(8):
        orders.send(str(value), partition=value // 4, timestamp_ms=T0 + value % 4)
    resolved = {
        name: {orders.name: value["T"]} if isinstance(value, dict) else value for name, value in options.items()
    }
    assert orders.values(**resolved) == expected


def test_min_partitions_sets_the_number_of_tasks_and_each_record_is_read_once(topic):
    orders = topic()
    for hundred in range(10):
        orders.send(*(str(hundred * 100 + one) for one in range(100)))
    frame = orders.read(minPartitions="7", fetchBytes="2000")
    assert frame.rdd.getNumPartitions() == 7
    assert texts(frame) == [str(number) for number in range(1000)]


def test_a_pattern_selects_topics_by_their_whole_name(topic, name):
    first, second = topic(name=f"{name}-a"), topic(name=f"{name}-b")
    other = topic(name=f"{name}-a-not")
    for each in (first, second, other):
        each.send(each.name)
    rows = first.read(topicsPattern=f"{name}-[ab]").select("topic").collect()
    assert sorted(row.topic for row in rows) == [first.name, second.name]
    assert first.values(topicsPattern="nothing-like-it.*") == []


def test_filters_on_partition_offset_and_time_read_less(topic):
    # Given two partitions, minutes apart by record
    orders = topic(2)
    for value in range(20):
        orders.send(str(value), partition=value // 10, timestamp_ms=T0 + 60_000 * value)
    # When partition, offset and time are filtered
    frame = orders.read(minPartitions="20").where(
        "partition = 1 and offset >= 2 and offset < 8 and timestamp > timestamp'2026-01-01 12:13:00'"
        " and timestamp <= timestamp'2026-01-01 12:16:00' and topic is not null"
    )
    # Then Spark has nothing left to filter, and there are tasks only for matching ranges
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan
    assert frame.rdd.getNumPartitions() == 4
    assert texts(frame) == ["14", "15", "16"]
    # And a filter on contents is left to Spark
    assert texts(orders.read().where("partition in (0, 1) and cast(value as string) like '%7'")) == ["7", "17"]
    assert texts(orders.read().where("partition = 5")) == []


def test_a_late_record_is_not_missed_by_a_filter_on_time(topic):
    # Given a record that is older than the one before it
    orders = topic()
    for value, minutes in (("0", 0), ("30", 30), ("10", 10), ("40", 40)):
        orders.send(value, timestamp_ms=T0 + 60_000 * minutes)
    # Then both bounds apply to every record
    assert texts(orders.read().where("timestamp < timestamp'2026-01-01 12:20:00'")) == ["0", "10"]
    assert texts(orders.read().where("timestamp >= timestamp'2026-01-01 12:20:00'")) == ["30", "40"]


def test_a_user_schema_selects_columns(spark, topic):
    orders = topic()
    orders.send("a", key="k")
    reader = spark.read.format("redis-ledger").options(**orders.options())
    frame = reader.schema("offset long, headers array<struct<key:string,value:binary>>, key binary").load()
    assert [tuple(row) for row in frame.collect()] == [(0, None, b"k")]
    with pytest.raises(AnalysisException, match="The schema has value string, which is not a column of this source"):
        reader.schema("value string").load().collect()


def test_invalid_options_are_refused_when_the_table_is_loaded(topic):
    orders = topic()
    with pytest.raises(AnalysisException, match="There is no option startoffsets; did you mean startingOffsets"):
        orders.read(startOffsets="earliest")
    with pytest.raises(AnalysisException, match="maxOffsetsPerTrigger applies to streams"):
        orders.read(maxOffsetsPerTrigger="5").collect()
    with pytest.raises(AnalysisException, match=f"does not name {orders.name}:0"):
        orders.read(startingOffsets={"other": {"0": 1}}).collect()
    with pytest.raises(AnalysisException, match="have no record at or after"):
        orders.read(startingTimestamp=str(T0 * 2)).collect()


def test_a_missing_topic_is_named(topic):
    with pytest.raises(AnalysisException, match=r"UnknownTopic.*no-such-topic"):
        topic().read(topics="no-such-topic").collect()


def test_an_empty_topic_is_an_empty_table(topic):
    assert topic(3).read().count() == 0


def test_deleted_records_fail_the_query_or_are_skipped(topic, delete_records):
    # Given ten records of which four are deleted
    orders = topic()
    for value in range(10):
        orders.send(str(value))
    delete_records(orders.name, 4)
    # Then a query from the earliest offset has lost nothing
    assert orders.values() == ["4", "5", "6", "7", "8", "9"]
    # But a query from offset 2 fails
    from_2 = {orders.name: {"0": 2}}
    with pytest.raises(AnalysisException, match=r"offsets 2 to 4 have been deleted.*Set failOnDataLoss to false"):
        orders.values(startingOffsets=from_2)
    assert orders.values(startingOffsets=from_2, failOnDataLoss="false") == ["4", "5", "6", "7", "8", "9"]
    # And a query to offset 12 fails instead of waiting
    to_12 = {orders.name: {"0": 12}}
    with pytest.raises(AnalysisException, match=r"offsets 10 to 12 do not exist"):
        orders.values(endingOffsets=to_12)


def test_our_errors_keep_their_names_in_spark(topic):
    with pytest.raises(AnalysisException, match=errors.InvalidRequest.__name__):
        topic().read(bootstrap="b:9092")
