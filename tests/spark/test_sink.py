"""Writing from a real Spark into a real broker: columns, and exactly once whoever fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQueryException

from redis_ledger import Client
from redis_ledger.records.partitioner import partition_for
from tests.spark import driver
from tests.spark.failing import FailingSource
from tests.support.served import Served, served

ROOT = Path(__file__).resolve().parents[2]
REFUSED = (AnalysisException, PySparkException)


@pytest.fixture(autouse=True)
def failing_source(spark: SparkSession) -> None:
    spark.dataSource.register(FailingSource)


@pytest.fixture
def brokers(redis_url: str, prefix: str) -> Iterator[Served]:
    with served(redis_url, prefix) as brokers:
        yield brokers


@pytest.fixture
def client(brokers: Served) -> Iterator[Client]:
    with Client(brokers.urls) as client:
        client.topics.create("out", partitions=3)
        yield client


@pytest.fixture
def options(brokers: Served) -> dict[str, str]:
    # The first address is of a broker that is gone; requests go on at the next.
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


def test_every_column_is_written_as_kafkas_sink_writes_it(spark, client, options):
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


def test_a_column_names_the_topic_and_a_null_is_a_tombstone(spark, client, options):
    client.topics.create("other")
    del options["topic"]
    save(
        spark.sql("select 'k' key, cast(null as string) value, 'other' topic union all select 'j', 'v', 'out'"), options
    )
    assert [(m.key, m.value) for m in messages(client, "other", 1)] == [(b"k", None)]
    assert seen(client) == ["v"]


def test_what_is_due_later_waits(spark, client, options):
    save(spark.sql("select 'now' value, current_timestamp() - interval 1 hour deliver_at"), options)
    save(spark.sql("select 'later' value, 3600000L deliver_after"), options)
    assert seen(client) == ["now"]
    assert [record.value for record in client.scheduled.list("out")] == [b"later"]


@pytest.mark.parametrize(
    ("sql", "more", "told"),
    [
        ("select 1 value", {}, "The column value is int; it has to be binary or string. Cast it."),
        ("select 'v' val", {}, "There is no column value;"),
        ("select 'v' value", {"topics": "a"}, "There is no option topics; do you mean topic?"),
    ],
)
def test_what_cannot_be_written_is_refused_in_a_sentence_before_anything_is_written(
    spark, client, options, sql, more, told
):
    with pytest.raises(REFUSED) as caught:
        save(spark.sql(sql), options, **more)
    assert told in str(caught.value)


def test_a_job_that_is_one_step_of_many_is_done_once(spark, client, options):
    for _ in range(2):
        save(spark.sql("select cast(id as string) value from range(5)"), options, onceName="nightly", onceNumber="7")
        assert seen(client) == ["0", "1", "2", "3", "4"]
    assert client.transactions.once("nightly") == 7
    assert is_settled(client)


def test_a_task_that_fails_is_done_again_and_its_rows_are_there_once(spark, client, options):
    save(
        spark.sql("select cast(id as string) value from range(100)"), options, "redis-ledger-failing",
        point="failed 0 /none", batchBytes="300",
    )  # fmt: skip
    assert seen(client) == sorted(str(n) for n in range(100))
    assert is_settled(client)


def test_a_job_that_fails_leaves_nothing(spark, client, options):
    frame = spark.sql("select if(id = 70, raise_error('no'), cast(id as string)) value from range(100)")
    with pytest.raises(Exception, match="no"):
        save(frame, options, batchBytes="300")
    assert seen(client) == []
    assert is_settled(client)


# -- streams -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three batches of lines."""
    made = tmp_path / "in"
    made.mkdir()
    for batch in range(3):
        (made / f"{batch}.txt").write_text("".join(f"{batch}-{n:02}\n" for n in range(20)))
        os.utime(made / f"{batch}.txt", (1_700_000_000 + batch,) * 2)  # Spark takes the oldest first
    return made


EXPECTED = sorted(f"{batch}-{n:02}" for batch in range(3) for n in range(20))


def test_a_batch_that_is_replayed_writes_nothing_twice(spark, client, options, folder, tmp_path):
    # Given a query that has written its batches
    checkpoint = tmp_path / "checkpoint"
    query = driver.begin(spark, str(folder), str(checkpoint), options)
    query.awaitTermination()
    assert (seen(client), is_settled(client)) == (EXPECTED, True)
    assert client.transactions.once(f"spark query {query.id}") == 2
    # When it has lost the note that the last one was done, and one more file has come
    (checkpoint / "commits" / "2").unlink()
    (checkpoint / "commits" / ".2.crc").unlink()
    (folder / "3.txt").write_text("more\n")
    again = driver.begin(spark, str(folder), str(checkpoint), options)
    again.awaitTermination()
    assert again.id == query.id
    # Then only that file was added
    assert (seen(client), is_settled(client)) == ([*EXPECTED, "more"], True)
    assert client.transactions.once(f"spark query {query.id}") == 3


def test_a_task_of_a_stream_that_fails_leaves_no_duplicate(spark, client, options, folder, tmp_path):
    more = {**options, "point": "failed 1 /none", "batchBytes": "100"}
    driver.begin(spark, str(folder), str(tmp_path / "checkpoint"), more, "redis-ledger-failing").awaitTermination()
    assert (seen(client), is_settled(client)) == (EXPECTED, True)


POINTS = {"before": 20, "written": 20, "committed": 40}  # and how many lines are visible when the driver dies there


def test_drivers_that_are_killed_are_followed_by_ones_that_go_on(spark, client, options, folder, tmp_path):
    # Given queries in their second batch: in the midst of the tasks, before the commit, and behind it
    queries = []
    for point in POINTS:
        client.topics.create(point, partitions=3)
        more = {**options, "topic": point, "point": f"{point} 1 {tmp_path / point}", "batchBytes": "100"}
        queries.append({"folder": str(folder), "checkpoint": str(tmp_path / f"c-{point}"), "options": more})
    pid = tmp_path / "pid"
    given = json.dumps({"pid": str(pid), "queries": queries})
    with subprocess.Popen(
        [sys.executable, "-m", "tests.spark.driver", given], cwd=ROOT, stderr=subprocess.PIPE
    ) as child:
        until_s = time.monotonic() + 150
        while not all((tmp_path / point).exists() for point in POINTS):
            assert child.poll() is None, child.communicate()[1].decode()[-2000:]
            assert time.monotonic() < until_s, "they never came to their points"
            time.sleep(0.1)  # it tells us by files
        # When their driver is killed
        os.kill(int(pid.read_text()), signal.SIGKILL)
        child.kill()
    for point, done in POINTS.items():
        assert seen(client, point) == EXPECTED[:done], point
    # And another one takes their checkpoints up
    for point in POINTS:
        driver.begin(spark, str(folder), str(tmp_path / f"c-{point}"), {**options, "topic": point}).awaitTermination()
        # Then every line is there once, and nothing the first one wrote is in anybody's way
        assert seen(client, point) == EXPECTED, point
    for point in POINTS:
        assert is_settled(client, point), point


def test_what_a_stream_has_read_is_acknowledged_with_what_it_wrote(spark, client, options, brokers, tmp_path):
    client.topics.create("in", partitions=2)
    with client.producer("in") as producer:
        for n in range(10):
            producer.send(f"{n}", key=f"{n}")
    for _ in range(2):
        source = spark.readStream.format("redis-ledger").option("bootstrap", brokers.urls[0]).option("topics", "in")
        frame = source.option("startingOffsets", "earliest").load().select("key", "value")
        writer = frame.writeStream.format("redis-ledger").options(**options, commitSubscription="etl")
        writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()
        assert seen(client) == [f"{n}" for n in range(10)]
        stats = client.subscriptions.stats("in", "etl")
        assert (stats.kind, stats.backlog, stats.pending) == ("kafka", 0, 0)
        # Markers count as offsets, and all before them is read
        ends = [state.stable_offset for state in client.topics.describe("in").partition_states]
        assert [cursor.mark_delete for cursor in stats.cursors] == ends
    assert is_settled(client)


def test_a_stream_that_cannot_write_ends_with_the_reason(spark, client, options, folder, tmp_path):
    query = driver.begin(spark, str(folder), str(tmp_path / "c"), {**options, "transactionTimeoutMs": "999999999"})
    with pytest.raises(StreamingQueryException) as caught:
        query.awaitTermination()
    assert "999999999 ms was asked for" in str(caught.value)
