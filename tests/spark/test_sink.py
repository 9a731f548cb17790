"""Writes from a real Spark to a real broker: columns, errors, and steps that run once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQueryException

from redis_ledger import Client
from redis_ledger.records.partitioner import partition_for
from tests.support.threaded_broker import ThreadedBroker, threaded_broker

REFUSED = (AnalysisException, PySparkException)


@pytest.fixture
def brokers(redis_url: str, prefix: str) -> Iterator[ThreadedBroker]:
    with threaded_broker(redis_url, prefix) as brokers:
        yield brokers


@pytest.fixture
def client(brokers: ThreadedBroker) -> Iterator[Client]:
    with Client(brokers.urls) as client:
        client.topics.create("out", partitions=3)
        yield client


@pytest.fixture
def options(brokers: ThreadedBroker) -> dict[str, str]:
    # The first address is of a stopped broker; requests continue at the next.
    return {"bootstrap": ",".join(["http://127.0.0.1:9", *brokers.urls]), "topic": "out"}


def save(frame: DataFrame, options: dict[str, str], name: str = "redis-ledger", **more: str) -> None:
    frame.write.format(name).options(**{**options, **more}).mode("append").save()


def messages(client: Client, topic: str = "out", partitions: int = 3) -> list[Any]:
    return [message for partition in range(partitions) for message in client.read(topic, partition)]


def seen(client: Client, topic: str = "out") -> list[str]:
    return sorted(message.text() for message in messages(client, topic))


def is_settled(client: Client, topic: str = "out") -> bool:
    states = client.topics.describe(topic).partition_states
    return client.transactions.list("open") == [] and all(s.stable_offset == s.end_offset for s in states)


def test_columns_are_written_as_by_kafkas_sink(spark, client, options):
    frame = spark.sql(
        """
        select if(id = 7, null, cast(id as string)) as key, encode(concat('v', id), 'utf-8') as value,
               array(named_struct('key', 'n', 'value', encode(cast(id as string), 'utf-8')),
                     named_struct('key', 'none', 'value', cast(null as binary))) as headers,
               if(id = 3, 1, null) as partition, timestamp_millis(1000 + id) as timestamp, id as offset
        from range(10)
        """
    )
    save(frame, options, keepTimestamp="true", compression="zstd")
    found = {message.text(): message for message in messages(client)}
    assert sorted(found) == [f"v{n}" for n in range(10)]
    for n in range(10):
        message = found[f"v{n}"]
        assert message.key == (None if n == 7 else b"%d" % n)
        assert dict(message.headers) == {"n": b"%d" % n, "none": None}
        assert message.timestamp_ms == 1000 + n
        if n != 7:
            assert message.partition == (1 if n == 3 else partition_for(b"%d" % n, 3))


def test_a_column_selects_the_topic_and_a_null_is_a_tombstone(spark, client, options):
    client.topics.create("other")
    del options["topic"]
    save(
        spark.sql("select 'k' key, cast(null as string) value, 'other' topic union all select 'j', 'v', 'out'"), options
    )
    assert [(m.key, m.value) for m in messages(client, "other", 1)] == [(b"k", None)]
    assert seen(client) == ["v"]


def test_scheduled_records_wait(spark, client, options):
    save(spark.sql("select 'now' value, current_timestamp() - interval 1 hour deliver_at"), options)
    save(spark.sql("select 'later' value, 3600000L deliver_after"), options)
    assert seen(client) == ["now"]
    assert [record.value for record in client.scheduled.list("out")] == [b"later"]


@pytest.mark.parametrize(
    ("sql", "more", "message"),
    [
        ("select 1 value", {}, "The column value is int; expected binary or string. Cast it."),
        ("select 'v' val", {}, "The column value is missing;"),
        ("select 'v' value", {"topics": "a"}, "There is no option topics; did you mean topic?"),
    ],
)
def test_invalid_writes_are_refused_before_anything_is_written(spark, client, options, sql, more, message):
    with pytest.raises(REFUSED) as caught:
        save(spark.sql(sql), options, **more)
    assert message in str(caught.value)


def test_a_numbered_step_is_written_once(spark, client, options):
    for _ in range(2):
        save(spark.sql("select cast(id as string) value from range(5)"), options, onceName="nightly", onceNumber="7")
        assert seen(client) == ["0", "1", "2", "3", "4"]
    assert client.transactions.once("nightly") == 7
    assert is_settled(client)


def test_a_failed_job_writes_nothing(spark, client, options):
    frame = spark.sql("select if(id = 70, raise_error('no'), cast(id as string)) value from range(100)")
    with pytest.raises(Exception, match="no"):
        save(frame, options, batchBytes="300")
    assert seen(client) == []
    assert is_settled(client)


# -- streams; test_matrix.py checks that they write everything once ----------------------------------------------------


def test_a_stream_that_cannot_write_fails_with_the_reason(spark, client, options, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lines.txt").write_text("a\nb\n")
    writer = spark.readStream.text(str(tmp_path / "in")).writeStream.format("redis-ledger").options(**options)
    query = (
        writer.options(transactionTimeoutMs="999999999", checkpointLocation=str(tmp_path / "c"))
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(StreamingQueryException) as caught:
        query.awaitTermination()
    assert "timeout is 999999999 ms" in str(caught.value)
