"""Options of a write, and the columns that can be written."""

from __future__ import annotations

import pytest

from redis_ledger.errors import InvalidRequest
from redis_ledger.spark.write_options import WriteOptions, check, parse_write_options, used

GIVEN = {"bootstrap": "http://b1:8080,http://b2:8080"}


def said(mode="batch", **options: str) -> WriteOptions:
    return parse_write_options({**GIVEN, **options}, mode)


def test_options_are_read_in_any_case_and_what_spark_adds_is_passed_over():
    found = said("stream", TOPIC="orders", Compression="zstd", queryname="q", checkpointlocation="/tmp/c")
    assert (found.topic, found.compression, found.once_name) == ("orders", 4, None)
    assert found.connection.urls == ("http://b1:8080", "http://b2:8080")


def test_a_query_name_is_not_what_batches_are_counted_under():
    # A query of the same name with another checkpoint starts at batch 0 again, which would count as done.
    assert said("stream", queryName="daily").once_name is None
    assert said("stream", onceName="daily").once_name == "daily"


def test_a_batch_job_says_itself_how_far_it_has_read():
    found = said(commitSubscription="etl", commitOffsets='{"orders": {"0": 12, "1": 0}}')
    assert (found.subscription, found.read) == ("etl", {("orders", 0): 12, ("orders", 1): 0})


@pytest.mark.parametrize(
    ("mode", "options", "message"),
    [
        ("batch", {"topics": "orders"}, "There is no option topics; did you mean topic?"),
        ("batch", {"topic": "a b"}, "topic: "),
        ("batch", {"onceName": "job"}, "onceName and onceNumber go together"),
        ("batch", {"onceNumber": "7"}, "onceName and onceNumber go together"),
        ("batch", {"onceName": "job", "onceNumber": "-7"}, "onceNumber is '-7'"),
        ("stream", {"onceNumber": "7"}, "onceNumber is for batch jobs"),
        ("batch", {"commitSubscription": "s"}, "In a batch job commitSubscription and commitOffsets go together"),
        (
            "batch",
            {"commitOffsets": '{"t": {"0": 1}}'},
            "In a batch job commitSubscription and commitOffsets go together",
        ),
        (
            "batch",
            {"commitSubscription": "s", "commitOffsets": '{"t": {"0": -1}}'},
            "commitOffsets: each offset must be",
        ),
        ("batch", {"commitSubscription": "s", "commitOffsets": "{}"}, "commitOffsets names no partition"),
        ("stream", {"commitSubscription": "s"}, "commitSubscription needs the option checkpointLocation"),
        ("stream", {"commitOffsets": '{"t": {"0": 1}}'}, "commitOffsets is for batch jobs"),
        ("stream", {"compression": "brotli"}, "compression is 'brotli'; expected none or gzip"),
        ("stream", {"batchBytes": "100000000"}, "batchBytes is 100000000; the maximum is 67108864."),
        ("stream", {"transactionTimeoutMs": "0"}, "transactionTimeoutMs is '0'"),
        ("stream", {"startingOffsets": "earliest"}, "There is no option startingOffsets"),
    ],
)
def test_invalid_write_options_are_refused_in_one_sentence(mode, options, message):
    with pytest.raises(InvalidRequest) as caught:
        said(mode, **options)
    assert caught.value.detail.startswith(message)
    assert caught.value.detail.endswith((".", "?"))


@pytest.mark.parametrize(
    ("types", "options", "message"),
    [
        ({"key": "string"}, {"topic": "t"}, "The column value is missing;"),
        ({"value": "string"}, {}, "There is no topic;"),
        ({"value": "bigint"}, {"topic": "t"}, "The column value is bigint; expected binary or string. Cast it."),
        ({"value": "binary", "topic": "int"}, {}, "The column topic is int; expected string."),
        ({"value": "binary", "partition": "bigint"}, {"topic": "t"}, "The column partition is bigint;"),
        ({"value": "binary", "headers": "map<string,string>"}, {"topic": "t"}, "The column headers is map"),
        ({"value": "binary", "deliver_at": "string"}, {"topic": "t"}, "The column deliver_at is string;"),
        (
            {"value": "binary", "deliver_at": "timestamp", "deliver_after": "bigint"},
            {"topic": "t"},
            "deliver_at and deliver_after exclude each other;",
        ),
        ({"value": "binary"}, {"topic": "t", "keepTimestamp": "true"}, "keepTimestamp is set"),
    ],
)
def test_columns_that_cannot_be_written_are_named(types, options, message):
    with pytest.raises(InvalidRequest) as caught:
        check(types, said(**options), overwrite=False)
    assert caught.value.detail.startswith(message)


def test_a_topic_cannot_be_overwritten():
    with pytest.raises(InvalidRequest, match="is append-only"):
        check({"value": "string"}, said(topic="t"), overwrite=True)


def test_a_frame_as_the_source_reads_it_can_be_written_as_it_is_and_other_columns_are_left_alone():
    types = {
        "key": "binary", "value": "binary", "topic": "string", "partition": "int", "offset": "bigint",
        "timestamp": "timestamp", "timestampType": "int", "headers": "array<struct<key:string,value:binary>>",
    }  # fmt: skip
    for options, wanted in (
        ({}, ["value", "key", "headers", "topic", "partition"]),
        ({"topic": "t"}, ["value", "key", "headers", "partition"]),
        ({"topic": "t", "keepTimestamp": "true"}, ["value", "key", "headers", "partition", "timestamp"]),
    ):
        check(types, said(**options), overwrite=False)
        assert used(types, said(**options)) == wanted
