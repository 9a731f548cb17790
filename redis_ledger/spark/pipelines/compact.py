"""Compact: of the records that were offloaded, only the last one of each key stays, where it was.

    orders:0   | a1 b1 a2 | c1 b2 a3 | c2 – d1 |  hot ...        – has no key, and stays; offsets stay too
               |          | b2 a3    | c2 – d1 |

    number    this run's, above that of every earlier one; only the run with the highest puts files in place
    write     new Parquet files for the same stretches, beside the old ones; each is read back
    swap      one call: the manifest names the new ones; ascending, so that a tombstone goes after what it deletes
    delete    the old ones, a while later, when the manifest is read again and does not name them: a Redis that lost
              what it had just answered names them still

Killed anywhere, the manifest names files that are there, old or new; what else there is the next run deletes.

    redis-ledger pipeline compact --topic orders
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from redis_ledger.client import Client
from redis_ledger.client.models import OffloadedPartition, OffloadSwapped
from redis_ledger.errors import Conflict, InvalidRequest, ManifestChanged, UnknownTopic
from redis_ledger.offload.manifest import Segment, folder
from redis_ledger.offload.object_store import ObjectStore, open_home
from redis_ledger.spark.manifest_copy import keep_copy
from redis_ledger.spark.orphan_files import listed
from redis_ledger.spark.pipelines import compact_spark
from redis_ledger.spark.pipelines.arguments import (
    add_topics,
    client_of,
    connection_of,
    duration_ms,
    ended,
    parser,
    started,
    topics_of,
)
from redis_ledger.spark.pipelines.compact_plan import SEGMENT_BYTES, Group, groups, is_unchanged, orphans
from redis_ledger.spark.pipelines.compact_spark import Rewriting
from redis_ledger.spark.pipelines.progress import Done, Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME = "compact"
DELETE_RETENTION_MS = 86_400_000
KEEP_REPLACED_MS = 5_000
WAVE = 32  # new segments that are written before the first of them takes its place
ATTEMPTS = 3


def main(arguments: Sequence[str]) -> int:
    given = arguments_of(arguments)
    return ended(NAME, lambda: run(given))


def arguments_of(arguments: Sequence[str]) -> argparse.Namespace:
    made = parser(NAME, "Keep only the last record of each key, of those that were offloaded.")
    add_topics(made)
    made.add_argument(
        "--delete-retention", type=duration_ms, default=DELETE_RETENTION_MS, metavar="DURATION",
        help="how old a tombstone becomes before it goes as well (1d)",
    )  # fmt: skip
    made.add_argument(
        "--segment-mb", type=_megabytes, default=SEGMENT_BYTES >> 20, metavar="N",
        help="small segments are merged up to this (%(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--keep-replaced", type=duration_ms, default=KEEP_REPLACED_MS, metavar="DURATION",
        help="how long files that were replaced stay, for readers under way and for a Redis that is set back (5s)",
    )  # fmt: skip
    made.add_argument("--dry-run", action="store_true", help="only tell what would go")
    return made.parse_args(arguments)


def _megabytes(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 4096):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 4096")
    return int(text)


def run(given: argparse.Namespace, now_ms: int | None = None) -> None:
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    progress = Progress(NAME)
    with client_of(connection_of(given)) as client, contextlib.ExitStack() as stack:
        spark: SparkSession | None = None
        for topic in topics_of(given, client):
            job = Job(client, topic, given, now_ms, progress)
            for partition in job.partitions():
                spark = spark or stack.enter_context(started(given))
                job.compact(spark, partition)
    progress.say("done." if progress.finished else "there was nothing to do: nothing has been offloaded.")


class Superseded(Conflict):
    """Another compaction of this topic has begun since, and this one stops."""


class Counted(NamedTuple):
    """A partition as it was read, and what stays of it."""

    partition: OffloadedPartition
    kept: DataFrame
    groups: list[Group]
    keyless: int

    @property
    def told(self) -> str:
        records = sum(segment.records for segment in self.partition.segments)
        old = [segment for group in self.groups for segment in group.segments]
        goes = sum(segment.records for segment in old) - sum(group.kept for group in self.groups)
        keyless = f", {self.keyless:,} of them without a key" if self.keyless else ""
        anew = f"{len(old)} segment{' is' if len(old) == 1 else 's are'} written anew, as {len(self.groups)}"
        return f"{records - goes:,} of {records:,} records{keyless}; {anew if old else 'no segment is written anew'}"


class Job:
    """One topic.  Raises UnknownTopic, InvalidRequest."""

    def __init__(self, client: Client, topic: str, given: argparse.Namespace, now_ms: int, progress: Progress) -> None:
        self._client, self._topic, self._given, self._progress = client, topic, given, progress
        self._old_ms = now_ms - given.delete_retention
        offloaded = client.offload.describe(topic)
        self._topic_id = offloaded.topic_id
        self._name = f"compact {topic[:200]} {self._topic_id}"
        self._numbers = [each.partition for each in offloaded.partitions if each.segments]
        if self._numbers and not offloaded.home:
            raise InvalidRequest(
                f"{topic} has offloaded records, and the broker has no offload_home to read them from."
            )
        self._home: ObjectStore | None = open_home(offloaded.home) if self._numbers else None
        self._replaced: list[str] = []  # files that the manifest names no more
        self._run = 0 if given.dry_run or not self._numbers else self._begun(now_ms)

    def partitions(self) -> list[int]:
        """Those that have something offloaded."""
        return self._numbers

    def compact(self, spark: SparkSession, number: int) -> None:
        """Raises Superseded; Conflict when other runs keep changing the segments."""
        for _ in range(ATTEMPTS):
            if not self._given.dry_run:
                self._clean(number)
            try:
                self._compact(spark, number)
                self._delete_replaced(number)
                return
            except ManifestChanged:
                self._check_newest()
                self._run = self._begun(self._run + 1)  # else it might write to files that it has put in place
        raise Conflict(f"The segments of {self._topic}:{number} change all the time; try again later.")

    def _compact(self, spark: SparkSession, number: int) -> None:
        with self._counted(spark, self._partition(number)) as found:
            if not self._given.dry_run:
                self._replace(found)
                keep_copy(self._opened, self._topic, self._topic_id, self._partition(number))
        leaves = "would leave" if self._given.dry_run else "leaves"
        self._progress.done(Done(f"{self._topic}:{number}: {leaves} {found.told}"))

    @contextlib.contextmanager
    def _counted(self, spark: SparkSession, partition: OffloadedPartition) -> Iterator[Counted]:
        segments, bytes_max = partition.segments, self._given.segment_mb << 20
        kept = compact_spark.kept(spark, self._opened.uri, segments, self._old_ms).persist()
        try:
            counts = compact_spark.counts(kept)
            decided = groups(segments, {first: count.kept for first, count in counts.items()}, bytes_max)
            yield Counted(partition, kept, decided, sum(count.keyless for count in counts.values()))
        finally:
            kept.unpersist()

    def _replace(self, found: Counted) -> None:
        """Ascending, so that at any time every tombstone is there as long as something that it deletes."""
        version, place = found.partition.version, self._folder(found.partition.partition)
        for at in range(0, len(found.groups), WAVE):
            wave = found.groups[at : at + WAVE]
            wanted = [Rewriting(group.stretch(place, self._run), group.segments) for group in wave]
            full = [each for each, group in zip(wanted, wave, strict=True) if group.kept]
            written = compact_spark.rewritten(found.kept, self._opened.uri, self._topic_id, full)
            new = {segment.first: segment for segment in written}
            counted = [(each.stretch.first, group.kept) for each, group in zip(wanted, wave, strict=True) if group.kept]
            assert [(each.first, each.records) for each in written] == counted, (written, counted)
            try:
                for each in wanted:
                    added = new.pop(each.stretch.first, None) or compact_spark.empty(each.stretch)
                    version = self._swap(found.partition.partition, version, each.segments, added)
            except (ManifestChanged, Superseded, UnknownTopic):
                self._delete([segment.file for segment in new.values()])  # they were not handed to anybody yet
                raise

    def _swap(self, number: int, version: int, old: Sequence[Segment], new: Segment) -> int:
        """The version afterwards.  Raises ManifestChanged when the old ones are not there any more, Superseded; and
        UnknownTopic when the topic is another one by now."""
        while True:
            self._check_newest()  # after the version is known: whoever comes later changes it before he looks
            try:
                swapped = self._asked(number, version, [each.first for each in old], new)
            except UnknownTopic:
                self._delete([new.file])
                raise
            except ManifestChanged:
                now = self._partition(number)
                if new in now.segments:  # it was done, and the answer lost
                    self._replaced += [segment.file for segment in old]
                    return now.version
                if not is_unchanged(old, now.segments):
                    self._delete([new.file])
                    raise
                version = now.version
            else:
                self._replaced += swapped.files
                return swapped.version

    def _delete_replaced(self, number: int) -> None:
        """After a while, and only what is not named by then.  A run that dies before leaves them to the next one."""
        if self._replaced:
            time.sleep(self._given.keep_replaced / 1000)
            needed = self._needed(self._partition(number))
            self._delete([file for file in self._replaced if file not in needed])
            self._replaced = []

    # -- what earlier runs left --------------------------------------------------------------------------------------

    def _clean(self, number: int) -> None:
        """Deletes the files of a partition that are not needed."""
        there = self._home_files(number)
        partition = self._partition(number)
        found = orphans(there, self._needed(partition), self._run)
        self._delete(found.certain)
        if found.earlier and partition.segments:  # where there is nothing, nothing can take its place
            # An earlier run may still live, and be about to put such a file in place.  It has compared its number with
            # the highest after it saw this version, so with another version it has to compare again.
            self._touch(partition)
            found = orphans(found.earlier, self._needed(self._partition(number)), self._run)
        self._delete(found.earlier)

    def _touch(self, partition: OffloadedPartition) -> None:
        """Another version of the same manifest, whoever makes it."""
        first = partition.segments[0]
        with contextlib.suppress(ManifestChanged):
            self._asked(partition.partition, partition.version, [first.first], first)

    def _needed(self, partition: OffloadedPartition) -> set[str]:
        planned = [stretch.file for stretch in partition.plan.stretches] if partition.plan is not None else []
        return {*planned, *(segment.file for segment in partition.segments)}

    # -- the run -----------------------------------------------------------------------------------------------------

    def _begun(self, now_ms: int) -> int:
        """The number of this run; every earlier one puts nothing in place from here on."""
        calls = self._client.transactions
        while True:
            number = max(now_ms, (calls.once(self._name) or 0) + 1)
            if calls.commit_all([], (self._name, number)).status != "already":
                return number

    def _check_newest(self) -> None:
        if self._client.transactions.once(self._name) != self._run:
            raise Superseded(
                f"Another compaction of {self._topic} has begun meanwhile; this one leaves the rest to it."
            )

    # -- broker and files --------------------------------------------------------------------------------------------

    def _partition(self, number: int) -> OffloadedPartition:
        """As it is now.  Raises UnknownTopic when another topic has this name by now: what is in the folder is not its
        business, and what it has not ours."""
        told = self._client.offload.describe(self._topic)
        if told.topic_id != self._topic_id:
            raise UnknownTopic(f"The topic {self._topic} was deleted while it was being compacted.", topic=self._topic)
        return next(each for each in told.partitions if each.partition == number)

    def _asked(self, number: int, version: int, firsts: Sequence[int], new: Segment) -> OffloadSwapped:
        return self._client.offload.swap(self._topic, number, version, firsts, [new], topic_id=self._topic_id)

    @property
    def _opened(self) -> ObjectStore:
        assert self._home is not None, "a partition with segments has a home"
        return self._home

    def _folder(self, number: int) -> str:
        return folder(self._topic, self._topic_id, number)

    def _home_files(self, number: int) -> list[str]:
        return [each.file for each in listed(self._opened, self._folder(number))]

    def _delete(self, files: Sequence[str]) -> None:
        for file in files:
            if file:
                self._opened.delete(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
