"""Replay: writes a range of one topic to another, at a rate, each record exactly once.

    orders      ····│ range, fixed by the first run of the job │····
                     step 1   step 2   step 3
    orders-dev        ↓ each in one commit: its records, its number, and the start of the next step

    killed in a step     nothing of it is visible; the next run repeats it
    killed between two   the next run continues
    two concurrent runs  one of them commits each step; the other's records are aborted

No state is kept on this machine.  The broker has the range and the position, as two subscriptions of the source, whose
backlog is the rest of the job.

    redis-ledger pipeline replay --from orders --to orders-dev --from-time 2026-01-01T00:00:00Z --rate 5000
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from redis_ledger.client import Client
from redis_ledger.client.inspection_models import TopicDescription
from redis_ledger.errors import InvalidRequest, LedgerError
from redis_ledger.ids import TopicPartition
from redis_ledger.spark import partition_metadata, plan
from redis_ledger.spark.offset_options import Offsets, to_checkpoint
from redis_ledger.spark.pipelines import replay_plan
from redis_ledger.spark.pipelines.arguments import client_of, connection_of, ended, options_of, parser, started
from redis_ledger.spark.pipelines.numbered_steps import append, committed_offsets, last_number
from redis_ledger.spark.pipelines.progress import Done, Progress
from redis_ledger.spark.pipelines.replay_plan import Pace
from redis_ledger.spark.pipelines.time_arguments import moment_ms
from redis_ledger.spark.read_options import Connection, parse_read_options
from redis_ledger.spark.task_commit import Step
from redis_ledger.spark.write_options import TRANSACTION_TIMEOUT_MS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "replay"
# The arguments that select what is replayed; the others select how.
IDENTITY = ("source", "target", "from_time", "to_time", "from_offsets", "to_offsets")


def main(arguments: Sequence[str]) -> int:
    given = arguments_of(arguments)
    return ended(NAME, lambda: run(given))


def arguments_of(arguments: Sequence[str]) -> argparse.Namespace:
    made = parser(NAME, "Write a range of a topic to another one, at a rate, each record once.")
    made.add_argument("--from", dest="source", required=True, metavar="TOPIC", help="the topic to read")
    made.add_argument("--to", dest="target", required=True, metavar="TOPIC", help="the topic to write")
    first, last = made.add_mutually_exclusive_group(), made.add_mutually_exclusive_group()
    like = "ISO 8601 with a time zone, or ms since 1970"
    first.add_argument(
        "--from-time", type=moment_ms, metavar="TIME", help=f"start at the first record at or after this time: {like}"
    )
    first.add_argument("--from-offsets", metavar="JSON", help='start at these offsets: {"0": 12, "1": 40}')
    last.add_argument(
        "--to-time", type=moment_ms, metavar="TIME", help="stop before the first record at or after this time"
    )
    last.add_argument("--to-offsets", metavar="JSON", help="stop before these offsets")
    made.add_argument("--rate", type=_count, metavar="N", help="records a second (default: no limit)")
    made.add_argument(
        "--step", type=_count, metavar="N",
        help=f"offsets of one step ({replay_plan.BURST_S} s of the rate, or {replay_plan.STEP_OFFSETS})",
    )  # fmt: skip
    made.add_argument(
        "--name", help="of the job: a run with the same name continues it (default: from the topics and the range)"
    )
    made.add_argument(
        "--partition", choices=("keep", "key"),
        help="partition of a record: the one that it had, or by its key (keep, if both topics have as many partitions)",
    )  # fmt: skip
    stamps = made.add_mutually_exclusive_group()
    stamps.add_argument(
        "--keep-timestamps", dest="keeps_timestamps", action="store_true", default=True,
        help="records keep their timestamps (default)",
    )  # fmt: skip
    stamps.add_argument("--now", dest="keeps_timestamps", action="store_false", help="records get the time of writing")
    made.add_argument("--skip-lost", action="store_true", help="continue if records of the range have been deleted")
    given = made.parse_args(arguments)
    if given.from_time is not None and given.to_time is not None and given.from_time >= given.to_time:
        made.error("--to-time must be later than --from-time")
    return given


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def run(
    given: argparse.Namespace,
    clock_s: Callable[[], float] = time.monotonic,
    sleep_s: Callable[[float], None] = time.sleep,
) -> None:
    reached = connection_of(given)
    with client_of(reached) as client:
        job = Job(client, reached, given)
        state = job.begun()
        progress = Progress(NAME)
        progress.say(f"{job.label} from {_shown(state.position)} to {_shown(state.end)}")
        if not replay_plan.left(state.position, state.end):
            progress.say("nothing is left to replay; to replay it again, give another --name.")
            return
        pace = Pace(given.rate, clock_s, sleep_s)
        with started(given) as spark:
            steps(job, spark, state, pace, progress)
        progress.end("replayed")


def steps(job: Job, spark: SparkSession, state: State, pace: Pace, progress: Progress) -> None:
    """Runs all remaining steps, one by one."""
    there = replay_plan.left(state.position, state.end)
    while replay_plan.left(state.position, state.end):
        until, number = job.following(state), state.number + 1
        pace.wait()
        records = job.write(spark, state, until)
        pace.wrote(records)
        state = job.state()
        done = there - replay_plan.left(state.position, state.end)
        progress.done(Done(f"step {number}, {done:,} of {there:,} offsets", records))


class State(NamedTuple):
    """Committed state.  number: of the last step.  position: start of the next one."""

    number: int
    position: Offsets
    end: Offsets


class Job:
    """Raises UnknownTopic, InvalidRequest."""

    def __init__(self, client: Client, reached: Connection, given: argparse.Namespace) -> None:
        self._client, self._reached, self._given = client, reached, given
        source, target = client.topics.describe(given.source), client.topics.describe(given.target)
        said = {name: getattr(given, name) for name in IDENTITY}
        name = given.name if given.name is not None else replay_plan.derived_name(said)
        self._names = replay_plan.names(name, source.id, target.id)
        self._keeps_partition = keeps_partition(given.partition, source, target)
        self.label = f"{given.source} → {given.target}, named {name}:"

    def begun(self) -> State:
        """Returns the current state; the first run fixes the range."""
        while (state := self._found()) is None:
            self._fix_range()
        return state

    def state(self) -> State:
        """Raises LedgerError if the broker's state of the job has expired or was deleted."""
        state = self._found()
        if state is None:
            raise LedgerError(self._gone())
        return state

    def following(self, state: State) -> Offsets:
        size = replay_plan.step_size(self._given.step, self._given.rate)
        return replay_plan.following(state.position, state.end, size)

    def write(self, spark: SparkSession, state: State, until: Offsets) -> int:
        """Writes one step; returns its number of records.  The state shows whether this run committed it."""
        given, partitions = self._given, self._client.topics.describe(self._given.source).partitions
        options = {
            "topics": given.source,
            "startingOffsets": replay_plan.all_named(state.position, given.source, partitions),
            "endingOffsets": replay_plan.all_named(until, given.source, partitions),
            "includeHeaders": "true",
            "failOnDataLoss": str(not given.skip_lost).lower(),
        }
        written = {
            "topic": given.target,
            "onceName": self._names.position,
            "onceNumber": str(state.number + 1),
            "commitSubscription": self._names.position,
            "commitOffsets": replay_plan.all_named(until, given.source, partitions),
            "keepTimestamp": str(given.keeps_timestamps).lower(),
        }
        columns = ["key", "value", "headers", "timestamp", *(["partition"] if self._keeps_partition else [])]
        reached = options_of(self._reached)
        read = spark.read.format("redis-ledger").options(**reached, **options).load()
        # Many tasks read a partition, and one task writes it, to keep the order of records.
        ordered = read.repartition(partitions, "partition").sortWithinPartitions("partition", "offset")
        records = append(ordered.select(*columns), {**reached, **written})
        self._client.subscriptions.note_offsets(
            given.source, self._names.end, _plain(state.end)
        )  # keeps it from expiring
        return records

    # -- state in the broker
    # ---------------------------------------------------------------------------------------------

    def _found(self) -> State | None:
        """None before the first step."""
        number = last_number(self._client, self._names.position)
        position, end = self._noted(self._names.position), self._noted(self._names.end)
        if position is None and end is None and number is None:
            return None
        if position is None or end is None or position.keys() != end.keys():
            raise LedgerError(self._gone())
        return State(number or 0, position, end)

    def _gone(self) -> str:
        return (
            f"{self._names.position!r} has begun, but its position was deleted or has expired."
            " Give another --name to start again."
        )

    def _noted(self, name: str) -> Offsets | None:
        found = committed_offsets(self._client, self._given.source, name)
        if found is None:
            return None
        return {TopicPartition(self._given.source, number): offset for number, offset in found.items()}

    def _fix_range(self) -> None:
        """Commits step 0, which has the range; if another run was first, its range applies."""
        position, end = self._range()
        step, calls = Step(self._names.position, 0), self._client.transactions
        txn = calls.begin(TRANSACTION_TIMEOUT_MS, owner=step.owner_of("range"), together=step.name).id
        for name, offsets in ((self._names.position, position), (self._names.end, end)):
            self._client.subscriptions.note_offsets(self._given.source, name, _plain(offsets), txn)
        if calls.commit_all([txn], (step.name, 0)).status == "already":
            calls.abort(txn)

    def _range(self) -> tuple[Offsets, Offsets]:
        given = self._given
        options = {"topics": given.source, "startingOffsetsByTimestampStrategy": "latest"}
        if given.from_time is not None:
            options["startingTimestamp"] = str(given.from_time)
        if given.to_time is not None:
            options["endingTimestamp"] = str(given.to_time)
        if given.from_offsets is not None:
            options["startingOffsets"] = replay_plan.named_offsets(given.source, given.from_offsets)
        if given.to_offsets is not None:
            options["endingOffsets"] = replay_plan.named_offsets(given.source, given.to_offsets)
        selection = parse_read_options({**options_of(self._reached), **options}, "batch")
        there = partition_metadata.partition_ends(selection, all_named=True)
        starts, ends = partition_metadata.starts(selection, there), partition_metadata.ends(selection, there)
        if losses := plan.plan_ranges(starts, ends, there).losses:
            raise InvalidRequest(losses[0])
        return starts, {partition: max(end, starts[partition]) for partition, end in ends.items()}


def keeps_partition(choice: str | None, source: TopicDescription, target: TopicDescription) -> bool:
    """Raises InvalidRequest if that is not possible."""
    if choice is None:
        return source.partitions == target.partitions
    if choice == "keep" and target.partitions < source.partitions:
        raise InvalidRequest(
            f"{source.name} has {source.partitions} partitions and {target.name} {target.partitions}, so records cannot"
            " keep theirs: add partitions, or give --partition key."
        )
    return choice == "keep"


def _plain(offsets: Offsets) -> dict[int, int]:
    return {partition.partition: offset for partition, offset in offsets.items()}


def _shown(offsets: Offsets) -> str:
    (by_partition,) = to_checkpoint(offsets).values()
    shown = ", ".join(f"{partition}: {offset}" for partition, offset in list(by_partition.items())[:8])
    return f"{{{shown}{', ...' if len(by_partition) > 8 else ''}}}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
