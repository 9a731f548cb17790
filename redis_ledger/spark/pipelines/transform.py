"""Transform: runs a SQL query over topics and writes the result to a topic, as a batch job or as a stream.

    redis-ledger pipeline transform --sql invoices.sql --input orders,rates --output invoices

    invoices.sql     select orders.key, to_json(struct(...)) value from orders join rates on ...
                     orders, rates: topics, as views                value: of the output records

Steps are numbered.  A batch job is one step under a name: repeated, it writes nothing.  With --commit-subscription each
run is the next step, from the end of the last one, and both are committed together.  A stream has a checkpoint.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from redis_ledger.client import Client
from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TopicPartition, check_subscription_name, check_topic_name
from redis_ledger.spark import partition_metadata, write_options
from redis_ledger.spark.offset_options import Offsets, to_checkpoint
from redis_ledger.spark.pipelines import queries
from redis_ledger.spark.pipelines.arguments import client_of, connection_of, ended, options_of, parser, started
from redis_ledger.spark.pipelines.numbered_steps import append, committed_offsets, last_number
from redis_ledger.spark.pipelines.progress import Done, Progress
from redis_ledger.spark.pipelines.queries import Trigger
from redis_ledger.spark.pipelines.time_arguments import moment_ms
from redis_ledger.spark.read_options import Connection, parse_read_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

NAME = "transform"
TEXTS = ("cast(key as string) key_text", "cast(value as string) value_text")
LOOK_S = 1  # between two checks of a stream's progress


def main(arguments: Sequence[str]) -> int:
    given = arguments_of(arguments)
    return ended(NAME, lambda: run(given))


def arguments_of(arguments: Sequence[str]) -> argparse.Namespace:
    made = parser(NAME, "Run a query over topics, and write its result to a topic, each record once.")
    made.add_argument("--sql", type=Path, required=True, metavar="FILE", help="the query; its column value is written")
    made.add_argument(
        "--input", type=queries.inputs, required=True, metavar="NAME=TOPIC[,...]",
        help="the topics, by their names in the query",
    )  # fmt: skip
    made.add_argument("--output", required=True, metavar="TOPIC", help="the topic to write")
    made.add_argument("--name", help="of the job: repeated, it writes nothing (default: from query, topics and times)")
    made.add_argument(
        "--from-time", type=moment_ms, metavar="TIME", help="start inputs at the first record at or after this time"
    )
    made.add_argument(
        "--to-time", type=moment_ms, metavar="TIME", help="stop inputs before the first record at or after this time"
    )
    made.add_argument(
        "--commit-subscription", metavar="NAME",
        help="commit the offsets read together with the output; a batch job starts at the committed offsets",
    )  # fmt: skip
    made.add_argument(
        "--keep-timestamps", action="store_true", help="write the column timestamp, not the time of writing"
    )
    streams = made.add_argument_group("streams")
    streams.add_argument("--stream", action="store_true", help="run until stopped, or see --trigger")
    streams.add_argument("--checkpoint", metavar="DIR", help="where Spark stores the position of the stream")
    streams.add_argument(
        "--trigger", type=queries.trigger, metavar="DURATION",
        help="interval, such as 10s; or available-now: process the available records and stop (as soon as possible)",
    )  # fmt: skip
    streams.add_argument("--output-mode", choices=("append", "update"), help="rows of an aggregate to write (append)")
    given = made.parse_args(arguments)
    if given.stream != (given.checkpoint is not None):
        made.error("--stream and --checkpoint go together")
    if given.stream and (given.to_time is not None or given.name is not None):
        made.error(
            "--to-time and --name are for batch jobs, without --stream; a stream is identified by its checkpoint"
        )
    if not given.stream and (given.trigger is not None or given.output_mode is not None):
        made.error("--trigger and --output-mode are for streams; add --stream")
    return given


def run(given: argparse.Namespace) -> None:
    logging.getLogger(
        "SQLQueryContextLogger"
    ).disabled = True  # pyspark's: logs every error of a query as a page of JSON
    text, reached = _text(given.sql), connection_of(given)
    check_topic_name(given.output)
    if given.commit_subscription is not None:
        check_subscription_name(given.commit_subscription)
    progress = Progress(NAME)
    with client_of(reached) as client:
        for topic in given.input.values():
            client.topics.describe(topic)
        if given.stream:
            with started(given) as spark:
                stream(spark, given, reached, text, progress)
            return
        step = step_of(client, given, reached, text)
        if step is None:
            progress.say(f"nothing to do: {_why(given)}")
            return
        with started(given) as spark:
            records = batch(spark, given, reached, text, step)
        progress.done(Done(f"step {step.number} of {step.name!r}", records))


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{file} cannot be read: {error}.") from None


def _why(given: argparse.Namespace) -> str:
    if given.commit_subscription is not None:
        return f"no records have arrived since {given.commit_subscription!r} was committed."
    return "this job is done; to run it again, give another --name."


# -- batch -------------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """ranges: start and end of each topic, as options of the source; None: by the time options."""

    name: str
    number: int
    ranges: Mapping[str, tuple[str, str]] | None = None
    read: Offsets | None = None


def step_of(client: Client, given: argparse.Namespace, reached: Connection, text: str) -> Step | None:
    """None if there is nothing to do."""
    name = f"transform {given.name if given.name is not None else _derived(given, text)}"
    number = last_number(client, name)
    if given.commit_subscription is None:
        return None if number is not None else Step(name, 0)
    starts, ends = _since(client, given, reached)
    if starts == ends:
        return None
    ranges = {
        topic: (json.dumps({topic: first}), json.dumps({topic: to_checkpoint(ends)[topic]}))
        for topic, first in to_checkpoint(starts).items()
    }
    return Step(name, 0 if number is None else number + 1, ranges, ends)


def _derived(given: argparse.Namespace, text: str) -> str:
    said = [text, given.input, given.output, given.from_time, given.to_time, given.commit_subscription]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:8]


def _since(client: Client, given: argparse.Namespace, reached: Connection) -> tuple[Offsets, Offsets]:
    """Returns the committed offsets, for other partitions the start of a new job; and the ends."""
    selection = parse_read_options(
        {**options_of(reached), "topics": ",".join(given.input.values()), **_times(given)}, "batch"
    )
    there = partition_metadata.partition_ends(selection, all_named=True)
    starts, ends = partition_metadata.starts(selection, there), partition_metadata.ends(selection, there)
    for topic in set(given.input.values()):
        for number, offset in (committed_offsets(client, topic, given.commit_subscription) or {}).items():
            partition = TopicPartition(topic, number)
            starts[partition], ends[partition] = offset, max(offset, ends[partition])
    return starts, ends


def batch(spark: SparkSession, given: argparse.Namespace, reached: Connection, text: str, step: Step) -> int:
    """Returns the number of records of the step."""
    for name, topic in given.input.items():
        options = _times(given)
        if step.ranges is not None:
            options = dict(zip(("startingOffsets", "endingOffsets"), step.ranges[topic], strict=True))
        reader = spark.read.format("redis-ledger").options(**_source(reached, topic), **options)
        _viewed(reader.load(), name)
    frame = _queried(spark, given, reached, text)
    written = {"onceName": step.name, "onceNumber": str(step.number)}
    if step.read is not None:
        written |= {
            "commitSubscription": given.commit_subscription,
            "commitOffsets": json.dumps(to_checkpoint(step.read)),
        }
    return append(frame, {**_sink(given, reached), **written})


def _times(given: argparse.Namespace) -> dict[str, str]:
    options: dict[str, str] = {}
    if given.from_time is not None:
        options |= {"startingTimestamp": str(given.from_time), "startingOffsetsByTimestampStrategy": "latest"}
    if given.to_time is not None:
        options["endingTimestamp"] = str(given.to_time)
    return options


# -- stream ------------------------------------------------------------------------------------------------------------


def stream(spark: SparkSession, given: argparse.Namespace, reached: Connection, text: str, progress: Progress) -> None:
    """Runs until the query ends."""
    for name, topic in given.input.items():
        options = _times(given) or {"startingOffsets": "earliest"}
        _viewed(spark.readStream.format("redis-ledger").options(**_source(reached, topic), **options).load(), name)
    frame = _queried(spark, given, reached, text)
    if not frame.isStreaming:
        raise InvalidRequest(f"{given.sql.name} reads none of the inputs; without --stream it runs once.")
    written = {"checkpointLocation": given.checkpoint}
    if given.commit_subscription is not None:
        written["commitSubscription"] = given.commit_subscription
    writer = frame.writeStream.format("redis-ledger").options(**_sink(given, reached), **written)
    writer = writer.outputMode(given.output_mode or "append")
    wanted: Trigger | None = given.trigger
    if wanted is not None and wanted.every_ms is None:
        writer = writer.trigger(availableNow=True)
    elif wanted is not None:
        writer = writer.trigger(processingTime=f"{wanted.every_ms} milliseconds")
    query = writer.start()
    try:
        reported = -1
        while not query.awaitTermination(LOOK_S):
            reported = _report(query, progress, reported)
        _report(query, progress, reported)
    finally:
        query.stop()


def _report(query: StreamingQuery, progress: Progress, reported: int) -> int:
    """Reports the batches after `reported`; returns the number of the last one."""
    for each in query.recentProgress:
        if each.batchId > reported and each.numInputRows:
            progress.done(Done(f"batch {each.batchId}, read", each.numInputRows))
            reported = each.batchId
    return reported


# -- both --------------------------------------------------------------------------------------------------------------


def _source(reached: Connection, topic: str) -> dict[str, str]:
    return {**options_of(reached), "topics": topic, "includeHeaders": "true"}


def _sink(given: argparse.Namespace, reached: Connection) -> dict[str, str]:
    return {**options_of(reached), "topic": given.output, "keepTimestamp": str(given.keep_timestamps).lower()}


def _viewed(frame: DataFrame, name: str) -> None:
    frame.selectExpr("*", *TEXTS).createOrReplaceTempView(name)


def _queried(spark: SparkSession, given: argparse.Namespace, reached: Connection, text: str) -> DataFrame:
    """Returns the result; analyzed before anything is read, so that errors are reported at once.
    Raises InvalidRequest."""
    from pyspark.errors import AnalysisException

    try:
        frame = spark.sql(queries.wrapped(text))
    except AnalysisException as error:  # a ParseException is one
        raise InvalidRequest(queries.fault(given.sql.name, text, str(error))) from None
    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    queries.check_columns(given.sql.name, types)
    write_options.check(types, write_options.parse_write_options(_sink(given, reached), "batch"), overwrite=False)
    return frame


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
