"""Stream reads of a topic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from tests.spark.conftest import Topic
from tests.support.processes import eventually

STREAM_S_MAX = 120


class Job:
    """A query that writes its input to Parquet, and can be restarted."""

    def __init__(self, home: Path, source: Topic, **options: Any) -> None:
        self.home, self.source, self.options = home, source, options

    def start(self, **trigger: Any) -> Any:
        frame = self.source.stream(**self.options).selectExpr("topic", "partition", "offset", "cast(value as string) v")
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(self.home / "checkpoint"))
        return writer.trigger(**trigger).start(str(self.home / "out"))

    def run(self) -> list[int]:
        """Reads all available records; returns the number in each batch."""
        query = self.start(availableNow=True)
        assert query.awaitTermination(STREAM_S_MAX)
        if (error := query.exception()) is not None:
            raise error
        return [each.numInputRows for each in query.recentProgress if each.numInputRows]

    @property
    def values(self) -> list[str]:
        if not (self.home / "out").exists():
            return []
        rows = self.source.spark.read.schema("topic string, partition int, offset long, v string").parquet(
            str(self.home / "out")
        )
        return [row.v for row in sorted(rows.collect())]

    def offsets(self) -> Any:
        """Returns the end of the last batch, from the checkpoint."""
        last = max((self.home / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
        return json.loads(last.read_text().splitlines()[-1])


@pytest.fixture
def job(tmp_path):
    return lambda source, **options: Job(tmp_path, source, **options)


def test_available_now_reads_once_and_the_next_run_continues(topic, job):
    # Given a job that has read all records
    orders = topic(2)
    for value in range(6):
        orders.send(str(value), partition=value // 3)
    reading = job(orders)
    assert sum(reading.run()) == 6
    assert reading.offsets() == {orders.name: {"0": 3, "1": 3}}
    # When no records have arrived, then nothing is read
    assert reading.run() == []
    # When records have arrived, then only they are read
    orders.send("6", "7", partition=1)
    assert reading.run() == [2]
    assert reading.values == [str(value) for value in range(8)]


@pytest.mark.parametrize(
    ("limit", "batches"), [({"maxOffsetsPerTrigger": "40"}, [40, 40, 20]), ({"maxBytesPerTrigger": "25000"}, None)]
)
def test_a_batch_does_not_exceed_its_limit(topic, job, limit, batches):
    # Given a hundred records of a thousand bytes in two partitions
    orders = topic(2)
    for place in range(100):
        orders.send(f"{place:01000}", partition=place % 2)
    # When they are read with the limit
    reading = job(orders, **limit)
    seen = reading.run()
    # Then no batch exceeds it, and together they have all records
    assert sum(seen) == 100
    assert seen == batches if batches else (len(seen) in (4, 5, 6) and max(seen) <= 25)
    assert [int(value) for value in reading.values] == [*range(0, 100, 2), *range(1, 100, 2)]


def test_a_running_stream_reads_new_records_partitions_and_topics(topic, job, client, name):
    first = topic(name=f"{name}-a")
    first.send("a0")
    reading = job(first, topicsPattern=f"{name}-.*", minPartitions="2")
    query = reading.start(processingTime="200 milliseconds")
    try:
        eventually(lambda: reading.values == ["a0"], STREAM_S_MAX)
        # When a record, a partition and a topic are added
        first.send("a1")
        client.topics.grow(first.name, partitions=2)
        first.send("p0", partition=1)
        topic(name=f"{name}-b").send("b0")
        # Then all records are read
        eventually(lambda: reading.values == ["a0", "a1", "p0", "b0"], STREAM_S_MAX)
        assert query.isActive
    finally:
        query.stop()


def test_a_stream_waits_for_an_open_transaction_and_skips_an_aborted_one(topic, job, client):
    orders = topic()
    orders.send("before")
    open_, aborted = client.transaction(), client.transaction()
    aborted.send(orders.name, "aborted").result()
    aborted.abort()
    open_.send(orders.name, "in it").result()
    orders.send("behind")
    reading = job(orders)
    assert reading.run() == [1]
    open_.commit()
    assert reading.run() == [2]
    assert reading.values == ["before", "in it", "behind"]


def test_a_stream_begins_at_the_latest_offset_by_default(topic, job):
    orders = topic()
    orders.send("old")
    reading = job(orders, startingOffsets="latest")
    assert reading.run() == []
    orders.send("new")
    assert reading.run() == [1]
    assert reading.values == ["new"]


def test_a_stream_that_lost_records_fails_or_continues(topic, job, delete_records):
    # Given a job that has read two of ten records, of which five are then deleted
    orders = topic()
    orders.send("0", "1")
    reading = job(orders)
    assert reading.run() == [2]
    for value in range(2, 10):
        orders.send(str(value))
    delete_records(orders.name, 5)
    # Then it fails and names the loss
    with pytest.raises(StreamingQueryException, match="offsets 2 to 5 have been deleted before they were read"):
        reading.run()
    # And continues if losses are allowed
    reading.options["failOnDataLoss"] = "false"
    assert sum(reading.run()) == 5
    assert reading.values == ["0", "1", "5", "6", "7", "8", "9"]


def test_a_recreated_topic_is_detected(topic, job, client):
    orders = topic()
    orders.send(*"abcdef")
    reading = job(orders)
    assert reading.run() == [6]
    client.topics.delete(orders.name)
    client.topics.create(orders.name)
    orders.send("new")
    with pytest.raises(StreamingQueryException, match="ends at 1, below 6, the position of this query"):
        reading.run()
    reading.options["failOnDataLoss"] = "false"
    assert sum(reading.run()) == 1


def test_invalid_options_of_a_stream_are_refused(topic, job):
    with pytest.raises(Exception, match="endingOffsets applies to batch queries"):
        job(topic(), endingOffsets="latest").run()
