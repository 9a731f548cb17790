"""Transform: a query in a file, topics in, a topic out; as a batch that counts once, or as a stream.

    redis-ledger pipeline transform --sql invoices.sql --input orders,rates --output invoices

    invoices.sql     select orders.key, to_json(struct(...)) value from orders join rates on ...
                     orders, rates: topics, as views                value: what is written

Steps are counted.  A batch is one step under a name: done again, it writes nothing.  With --commit-subscription
each run is the next step, from where the last one has ended, and both are one decision.  A stream has its checkpoint.
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
from redis_ledger.spark.pipelines.numbered_steps import append, last_number, noted
from redis_ledger.spark.pipelines.progress import Done, Progress
from redis_ledger.spark.pipelines.queries import Trigger
from redis_ledger.spark.pipelines.time_arguments import moment_ms
from redis_ledger.spark.read_options import Connection, reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

NAME = "transform"
TEXTS = ("cast(key as string) key_text", "cast(value as string) value_text")
LOOK_S = 1  # between two looks at what a stream has done


def main(arguments: Sequence[str]) -> int:
    given = arguments_of(arguments)
    return ended(NAME, lambda: run(given))


def arguments_of(arguments: Sequence[str]) -> argparse.Namespace:
    made = parser(NAME, "Run a query over topics, and write its result to a topic, every record once.")
    made.add_argument("--sql", type=Path, required=True, metavar="FILE", help="one query; its column value is written")
    made.add_argument(
        "--input", type=queries.inputs, required=True, metavar="NAME=TOPIC[,...]",
        help="the topics, by the names that the query has for them",
    )  # fmt: skip
    made.add_argument("--output", required=True, metavar="TOPIC", help="what the result is written to")
    made.add_argument(
        "--name", help="of the job: done again under it, it writes nothing (derived from query, topics and times)"
    )
    made.add_argument("--from-time", type=moment_ms, metavar="TIME", help="inputs from the first record as late on")
    made.add_argument("--to-time", type=moment_ms, metavar="TIME", help="inputs up to the first record as late")
    made.add_argument(
        "--commit-subscription", metavar="NAME",
        help="what was read is noted there with what was written; a batch job begins where it says",
    )  # fmt: skip
    made.add_argument(
        "--keep-timestamps", action="store_true", help="the column timestamp is written, and not the time of writing"
    )
    streams = made.add_argument_group("streams")
    streams.add_argument("--stream", action="store_true", help="go on for ever, or see --trigger")
    streams.add_argument("--checkpoint", metavar="DIR", help="where Spark keeps how far the stream is")
    streams.add_argument(
        "--trigger", type=queries.trigger, metavar="DURATION",
        help="how often, as in 10s; or available-now: what is there, and then end (as soon as there is something)",
    )  # fmt: skip
    streams.add_argument("--output-mode", choices=("append", "update"), help="which rows of an aggregate (append)")
    given = made.parse_args(arguments)
    if given.stream != (given.checkpoint is not None):
        made.error("--stream and --checkpoint go together")
    if given.stream and (given.to_time is not None or given.name is not None):
        made.error("--to-time and --name are for batch jobs, without --stream; a stream is told by its checkpoint")
    if not given.stream and (given.trigger is not None or given.output_mode is not None):
        made.error("--trigger and --output-mode are for streams; add --stream")
    return given


def run(given: argparse.Namespace) -> None:
    logging.getLogger("SQLQueryContextLogger").disabled = True  # pyspark's: every fault of a query as a page of JSON
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
        return f"nothing has come since {given.commit_subscription!r} was noted."
    return "it was done before under this name; to do it once more, give another --name."


# -- batch -------------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """ranges: where each topic begins and ends, as options of the source; None: as the times say."""

    name: str
    number: int
    ranges: Mapping[str, tuple[str, str]] | None = None
    read: Offsets | None = None


def step_of(client: Client, given: argparse.Namespace, reached: Connection, text: str) -> Step | None:
    """None when there is nothing to be done."""
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
    """From what is noted, on partitions where nothing is from where a new job begins; to where it ends."""
    asked = reading({**options_of(reached), "topics": ",".join(given.input.values()), **_times(given)}, "batch")
    there = partition_metadata.standings(asked, all_named=True)
    starts, ends = partition_metadata.starts(asked, there), partition_metadata.ends(asked, there)
    for topic in set(given.input.values()):
        for number, offset in (noted(client, topic, given.commit_subscription) or {}).items():
            partition = TopicPartition(topic, number)
            starts[partition], ends[partition] = offset, max(offset, ends[partition])
    return starts, ends


def batch(spark: SparkSession, given: argparse.Namespace, reached: Connection, text: str, step: Step) -> int:
    """How many records the step has."""
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
    """Until it ends, or for ever."""
    for name, topic in given.input.items():
        options = _times(given) or {"startingOffsets": "earliest"}
        _viewed(spark.readStream.format("redis-ledger").options(**_source(reached, topic), **options).load(), name)
    frame = _queried(spark, given, reached, text)
    if not frame.isStreaming:
        raise InvalidRequest(f"{given.sql.name} reads none of the inputs; without --stream it is done once.")
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
        told = -1
        while not query.awaitTermination(LOOK_S):
            told = _told(query, progress, told)
        _told(query, progress, told)
    finally:
        query.stop()


def _told(query: StreamingQuery, progress: Progress, told: int) -> int:
    """Tells of the batches after `told`; of the last one its number."""
    for each in query.recentProgress:
        if each.batchId > told and each.numInputRows:
            progress.done(Done(f"batch {each.batchId}, read", each.numInputRows))
            told = each.batchId
    return told


# -- both --------------------------------------------------------------------------------------------------------------


def _source(reached: Connection, topic: str) -> dict[str, str]:
    return {**options_of(reached), "topics": topic, "includeHeaders": "true"}


def _sink(given: argparse.Namespace, reached: Connection) -> dict[str, str]:
    return {**options_of(reached), "topic": given.output, "keepTimestamp": str(given.keep_timestamps).lower()}


def _viewed(frame: DataFrame, name: str) -> None:
    frame.selectExpr("*", *TEXTS).createOrReplaceTempView(name)


def _queried(spark: SparkSession, given: argparse.Namespace, reached: Connection, text: str) -> DataFrame:
    """The result; looked at before anything is read, so that what is wrong with it is said at once.
    Raises InvalidRequest."""
    from pyspark.errors import AnalysisException

    try:
        frame = spark.sql(queries.wrapped(text))
    except AnalysisException as error:  # a ParseException is one
        raise InvalidRequest(queries.fault(given.sql.name, text, str(error))) from None
    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    queries.check_columns(given.sql.name, types)
    write_options.check(types, write_options.writing(_sink(given, reached), "batch"), overwrite=False)
    return frame


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
