"""Compact: of the offloaded records, keeps the last one of each key, at its offset.

    orders:0   | a1 b1 a2 | c1 b2 a3 | c2 – d1 |  in Redis ...   – has no key and is kept; offsets do not change
               |          | b2 a3    | c2 – d1 |

    number    of this run, above that of every earlier one; only the run with the highest number can swap files in
    write     new Parquet files for the same stretches, beside the old ones; each is read back
    swap      one call: the manifest names the new ones; ascending, so that a tombstone outlives what it deletes
    delete    the old ones, after a delay, if the manifest still does not name them: a Redis that lost its latest
              writes may name them again

If a run is killed, the manifest names existing files, old or new; the next run deletes the others.

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
from redis_ledger.spark.manifest_copy import write_copy
from redis_ledger.spark.orphan_files import list_files
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
WAVE = 32  # new segments that are written before the first of them is swapped in
ATTEMPTS = 3


def main(arguments: Sequence[str]) -> int:
    given = arguments_of(arguments)
    return ended(NAME, lambda: run(given))


def arguments_of(arguments: Sequence[str]) -> argparse.Namespace:
    made = parser(NAME, "Keep only the last record of each key among offloaded records.")
    add_topics(made)
    made.add_argument(
        "--delete-retention", type=duration_ms, default=DELETE_RETENTION_MS, metavar="DURATION",
        help="age at which a tombstone is deleted as well (1d)",
    )  # fmt: skip
    made.add_argument(
        "--segment-mb", type=_megabytes, default=SEGMENT_BYTES >> 20, metavar="N",
        help="merge small segments up to this size (%(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--keep-replaced", type=duration_ms, default=KEEP_REPLACED_MS, metavar="DURATION",
        help="how long replaced files are kept, for active readers and for a Redis that loses writes (5s)",
    )  # fmt: skip
    made.add_argument("--dry-run", action="store_true", help="only report what would be deleted")
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
    progress.say("done." if progress.finished else "there was nothing to do: no records are offloaded.")


class Superseded(Conflict):
    """A later compaction of this topic has begun, so this one stops."""


class Counted(NamedTuple):
    """A partition as it was read, and its groups of segments to rewrite."""

    partition: OffloadedPartition
    kept: DataFrame
    groups: list[Group]
    keyless: int

    @property
    def summary(self) -> str:
        records = sum(segment.records for segment in self.partition.segments)
        old = [segment for group in self.groups for segment in group.segments]
        goes = sum(segment.records for segment in old) - sum(group.kept for group in self.groups)
        keyless = f", {self.keyless:,} without a key" if self.keyless else ""
        rewritten = f"{len(old)} segment{' is' if len(old) == 1 else 's are'} rewritten as {len(self.groups)}"
        return f"{records - goes:,} of {records:,} records{keyless}; {rewritten if old else 'no segment is rewritten'}"


class Job:
    """Compaction of one topic.  Raises UnknownTopic, InvalidRequest."""

    def __init__(self, client: Client, topic: str, given: argparse.Namespace, now_ms: int, progress: Progress) -> None:
        self._client, self._topic, self._given, self._progress = client, topic, given, progress
        self._old_ms = now_ms - given.delete_retention
        offloaded = client.offload.describe(topic)
        self._topic_id = offloaded.topic_id
        self._name = f"compact {topic[:200]} {self._topic_id}"
        self._numbers = [each.partition for each in offloaded.partitions if each.segments]
        if self._numbers and not offloaded.home:
            raise InvalidRequest(
                f"{topic} has offloaded records, but the broker has no offload_home to read them from."
            )
        self._home: ObjectStore | None = open_home(offloaded.home) if self._numbers else None
        self._replaced: list[str] = []  # files that the manifest no longer names
        self._run = 0 if given.dry_run or not self._numbers else self._begin(now_ms)

    def partitions(self) -> list[int]:
        """Partitions with offloaded records."""
        return self._numbers

    def compact(self, spark: SparkSession, number: int) -> None:
        """Raises Superseded; Conflict if other runs keep changing the segments."""
        for _ in range(ATTEMPTS):
            if not self._given.dry_run:
                self._clean(number)
            try:
                self._compact(spark, number)
                self._delete_replaced(number)
                return
            except ManifestChanged:
                self._check_newest()
                self._run = self._begin(self._run + 1)  # else it could overwrite files that it has swapped in
        raise Conflict(f"The segments of {self._topic}:{number} keep changing; try again later.")

    def _compact(self, spark: SparkSession, number: int) -> None:
        with self._count(spark, self._partition(number)) as found:
            if not self._given.dry_run:
                self._replace(found)
                write_copy(self._opened, self._topic, self._topic_id, self._partition(number))
        verb = "would keep" if self._given.dry_run else "keeps"
        self._progress.done(Done(f"{self._topic}:{number}: {verb} {found.summary}"))

    @contextlib.contextmanager
    def _count(self, spark: SparkSession, partition: OffloadedPartition) -> Iterator[Counted]:
        segments, bytes_max = partition.segments, self._given.segment_mb << 20
        kept = compact_spark.kept(spark, self._opened.uri, segments, self._old_ms).persist()
        try:
            counts = compact_spark.counts(kept)
            decided = groups(segments, {first: count.kept for first, count in counts.items()}, bytes_max)
            yield Counted(partition, kept, decided, sum(count.keyless for count in counts.values()))
        finally:
            kept.unpersist()

    def _replace(self, found: Counted) -> None:
        """In ascending order, so that a tombstone exists as long as a record that it deletes."""
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
                self._delete([segment.file for segment in new.values()])  # not named by any manifest yet
                raise

    def _swap(self, number: int, version: int, old: Sequence[Segment], new: Segment) -> int:
        """Returns the version afterwards.  Raises ManifestChanged if the old segments are gone, Superseded, and
        UnknownTopic if the topic was replaced."""
        while True:
            self._check_newest()  # after reading the version: a later run first raises the version, then compares
            try:
                swapped = self._call_swap(number, version, [each.first for each in old], new)
            except UnknownTopic:
                self._delete([new.file])
                raise
            except ManifestChanged:
                now = self._partition(number)
                if new in now.segments:  # the swap was done, and its response was lost
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
        """Deletes after a delay what the manifest does not name then.  If this run dies first, the next one does it."""
        if self._replaced:
            time.sleep(self._given.keep_replaced / 1000)
            needed = self._needed(self._partition(number))
            self._delete([file for file in self._replaced if file not in needed])
            self._replaced = []

    # -- files of earlier runs ---------------------------------------------------------------------------------------

    def _clean(self, number: int) -> None:
        """Deletes the files of a partition that are not needed."""
        there = self._home_files(number)
        partition = self._partition(number)
        found = orphans(there, self._needed(partition), self._run)
        self._delete(found.certain)
        if found.earlier and partition.segments:  # without segments, nothing can be swapped
            # An earlier run may still be alive and about to swap in such a file.  It compared its number with the
            # highest one after reading this version, so a new version makes it compare again.
            self._touch(partition)
            found = orphans(found.earlier, self._needed(self._partition(number)), self._run)
        self._delete(found.earlier)

    def _touch(self, partition: OffloadedPartition) -> None:
        """Raises the version of the manifest, unless another run does."""
        first = partition.segments[0]
        with contextlib.suppress(ManifestChanged):
            self._call_swap(partition.partition, partition.version, [first.first], first)

    def _needed(self, partition: OffloadedPartition) -> set[str]:
        planned = [stretch.file for stretch in partition.plan.stretches] if partition.plan is not None else []
        return {*planned, *(segment.file for segment in partition.segments)}

    # -- the run -----------------------------------------------------------------------------------------------------

    def _begin(self, now_ms: int) -> int:
        """Returns the number of this run.  From now on no earlier run can swap in files."""
        calls = self._client.transactions
        while True:
            number = max(now_ms, (calls.once(self._name) or 0) + 1)
            if calls.commit_all([], (self._name, number)).status != "already":
                return number

    def _check_newest(self) -> None:
        if self._client.transactions.once(self._name) != self._run:
            raise Superseded(f"Another compaction of {self._topic} has begun; this one stops.")

    # -- broker and files --------------------------------------------------------------------------------------------

    def _partition(self, number: int) -> OffloadedPartition:
        """Returns the current partition.  Raises UnknownTopic if another topic has this name by now: its manifest does
        not name the files in this folder."""
        description = self._client.offload.describe(self._topic)
        if description.topic_id != self._topic_id:
            raise UnknownTopic(f"The topic {self._topic} was deleted while it was being compacted.", topic=self._topic)
        return next(each for each in description.partitions if each.partition == number)

    def _call_swap(self, number: int, version: int, firsts: Sequence[int], new: Segment) -> OffloadSwapped:
        return self._client.offload.swap(self._topic, number, version, firsts, [new], topic_id=self._topic_id)

    @property
    def _opened(self) -> ObjectStore:
        assert self._home is not None, "a partition with segments has an object store"
        return self._home

    def _folder(self, number: int) -> str:
        return folder(self._topic, self._topic_id, number)

    def _home_files(self, number: int) -> list[str]:
        return [each.file for each in list_files(self._opened, self._folder(number))]

    def _delete(self, files: Sequence[str]) -> None:
        for file in files:
            if file:
                self._opened.delete(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
