"""Offloads the partitions of a topic.  The caller decides where tasks run.

plan ─→ write (tasks) ─→ verify (tasks) ─→ publish ─→ tidy up
          │ on an error, depending on the partition's state
          ├ the log start has moved into the plan      abandons the plan, deletes its files, and plans again
          ├ another run has ended the plan             plans again
          ├ the topic was deleted                      deletes the plan's files; raises UnknownTopic
          └ otherwise                                  raises; the next run resumes the plan
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol, TypeVar

from redis_ledger.client import Client
from redis_ledger.client.models import OffloadedPartition
from redis_ledger.errors import OffloadDisabled, OffloadedUnavailable, UnknownPlan, UnknownTopic
from redis_ledger.ids import TopicPartition
from redis_ledger.offload.manifest import Plan, Segment, folder
from redis_ledger.spark.manifest_copy import copy_name, write_copy
from redis_ledger.spark.orphan_files import find_orphans, list_files
from redis_ledger.spark.pipelines.progress import Done, Progress, size
from redis_ledger.spark.read_options import OFFLOAD_DECODED_BYTES, Connection
from redis_ledger.spark.segment_tasks import SegmentTask, WrittenSegment, check, write

PLANS_MAX = 8  # abandoned in a row because the log start moved into each of them
PARTITIONS_AT_ONCE = 16

T = TypeVar("T")
R = TypeVar("R")


class Run(Protocol):
    """Runs the work on every piece, anywhere, and returns the results in the order of the pieces.

    report: returns the progress of a finished piece.
    """

    def __call__(
        self, work: Callable[[T], R], pieces: Sequence[T], report: Callable[[T, R], Done] | None = None
    ) -> list[R]: ...


class OffloadOptions(NamedTuple):
    """seal: include the active ledger.  older_than_ms: only records that are older.  orphan_ms: minimum age of an
    orphan file before it is deleted.  skip_too_large: leave out and report batches that are too large to decode; else
    their partition stops before them.  decoded_bytes_max: of a batch."""

    seal: bool = False
    older_than_ms: int = 0
    verify: bool = True
    orphan_ms: int = 86_400_000
    skip_too_large: bool = False
    decoded_bytes_max: int = OFFLOAD_DECODED_BYTES


class Offload:
    """Offload of one topic id."""

    def __init__(
        self, client: Client, reached: Connection, topic: str, options: OffloadOptions, run: Run, progress: Progress
    ) -> None:
        """Raises UnknownTopic, OffloadDisabled; InvalidRequest or ImportError if the object store cannot be opened
        here."""
        from redis_ledger.offload.segment import open_home

        self._client, self._reached, self._topic = client, reached, topic
        self._options, self._run, self._progress = options, run, progress
        description = client.offload.describe(topic)
        if not description.home:
            raise OffloadDisabled
        self._topic_id, self._partitions, self._home = (
            description.topic_id,
            description.partitions,
            open_home(description.home),
        )
        self._over: set[str] = set()  # plans that no run can publish any more

    def all(self) -> list[Exception]:
        """Offloads every partition, and tidies up.  Returns the errors of partitions."""
        with ThreadPoolExecutor(PARTITIONS_AT_ONCE, thread_name_prefix="redis-ledger-offload") as threads:
            done = [threads.submit(self._partition, each) for each in self._partitions]
        failed = []
        for each in done:
            error = each.exception()
            if isinstance(error, Exception):
                failed.append(error)
            elif error is not None:
                raise error
        if not any(isinstance(error, UnknownTopic) for error in failed):
            self._tidy_up()
        return failed

    def _partition(self, now: OffloadedPartition) -> None:
        """Runs one plan after another until there is nothing left to offload."""
        name, seal, given_up = TopicPartition(self._topic, now.partition), self._options.seal, 0
        left_behind = None if now.plan is None else now.plan.id
        while (plan := self._plan(now.partition, seal)) is not None:
            try:
                segments = self._written(name, plan)
                done = self._client.offload.publish(self._topic, now.partition, plan, segments)
            except Exception as error:
                now = self._after(error, plan, now.partition)
                if now.plan is not None and now.plan.id == plan.id:
                    if now.start_offset <= plan.stretches[0].first or given_up == PLANS_MAX:
                        raise
                    given_up += 1
                    self._progress.say(f"planning {name} again: the log start has moved to {now.start_offset}")
                    self._give_up(plan, now.partition)
                self._over.add(plan.id)
                continue
            self._over.add(plan.id)
            # Records that arrive during this run are left to the next one.  A plan of an earlier run does not cover
            # what this run has to seal.
            seal = seal and plan.id == left_behind
            count = done.ledgers_dropped
            dropped = f"{size(done.bytes_dropped)} in {count} ledger{'' if count == 1 else 's'}"
            self._progress.say(f"{name} is published up to {done.offloaded_offset}; Redis has dropped {dropped}")

    def _plan(self, number: int, seal: bool) -> Plan | None:
        older_ms = self._options.older_than_ms
        try:
            return self._client.offload.plan(
                self._topic, number, seal=seal, older_than_ms=older_ms, topic_id=self._topic_id
            )
        except UnknownTopic as error:
            raise self._gone() from error

    def _written(self, name: TopicPartition, plan: Plan) -> list[Segment]:
        """Writes and verifies every file of the plan."""
        reached = self._reached.now()
        options, uri = self._options, self._home.uri
        pieces = [
            SegmentTask(uri, self._topic_id, name, stretch, reached, options.skip_too_large, options.decoded_bytes_max)
            for stretch in plan.stretches
        ]
        self._progress.expect(len(pieces))
        written = self._run(write, pieces, progress_of)
        for said in (said for each in written for said in each.skipped):
            self._progress.say(f"skipped, to be deleted when the segment is published: {said}")
        for segment in (each.segment for each in written):
            if segment.file and self._home.size(segment.file) != segment.bytes:
                raise OffloadedUnavailable(
                    f"A task wrote {segment.file}, but it is not in {self._home.uri} here: driver, executors and"
                    " brokers must share one object store."
                )
        if self._options.verify:
            fresh = [each.segment for each in written if each.segment.file and not each.existed]
            if fresh:
                self._run(check, [(self._home.uri, segment) for segment in fresh])
        return [each.segment for each in written]

    def _after(self, error: Exception, plan: Plan, number: int) -> OffloadedPartition:
        """Returns the partition after an error.  If the topic was deleted, deletes the plan's files; raises
        UnknownTopic."""
        try:
            return self._now()[number]
        except UnknownTopic as gone:
            for stretch in plan.stretches:
                self._home.delete(stretch.file)
            raise gone from error

    def _give_up(self, plan: Plan, number: int) -> None:
        """Abandons the plan, then deletes its files, which can no longer be published."""
        with contextlib.suppress(UnknownPlan):  # another run has ended it, and its next plan is in effect
            for file in self._client.offload.abandon(self._topic, number, plan):
                self._home.delete(file)

    def _tidy_up(self) -> None:
        """Writes copies of manifests; deletes removed segments and orphan files."""
        found = [
            each for partition in self._partitions for each in list_files(self._home, self._folder(partition.partition))
        ]
        now, forgotten = self._now(), []
        for each in now:
            if each.segments and each.segments[0].end <= each.start_offset:
                forgotten += self._client.offload.forget(self._topic, each.partition, topic_id=self._topic_id)
        if forgotten:
            now = self._now()
        for each in now:
            copy = copy_name(self._topic, self._topic_id, each.partition)
            if each.segments or any(there.file == copy for there in found):
                write_copy(self._home, self._topic, self._topic_id, each)
        named = {segment.file for each in now for segment in each.segments}
        named |= {stretch.file for each in now if each.plan is not None for stretch in each.plan.stretches}
        before_s = time.time() - self._options.orphan_ms / 1000
        orphans = find_orphans(found, named.union(forgotten), self._over, before_s)
        for file in (*forgotten, *orphans):
            self._home.delete(file)
        if forgotten or orphans:
            self._progress.say(
                f"{self._topic}: deleted {len(forgotten)} files below the log start and {len(orphans)} orphan files"
            )

    def _now(self) -> list[OffloadedPartition]:
        """Returns the partitions.  Raises UnknownTopic if the topic was deleted, even if another one has its name."""
        with contextlib.suppress(UnknownTopic):
            description = self._client.offload.describe(self._topic)
            if description.topic_id == self._topic_id:
                return description.partitions
        raise self._gone()

    def _folder(self, partition: int) -> str:
        return folder(self._topic, self._topic_id, partition)

    def _gone(self) -> UnknownTopic:
        return UnknownTopic(f"The topic {self._topic} was deleted while it was being offloaded.", topic=self._topic)


def progress_of(piece: SegmentTask, written: WrittenSegment) -> Done:
    segment, stretch = written.segment, piece.stretch
    what = f"{piece.partition} {stretch.first} to {stretch.end}{' (existed)' if written.existed else ''}"
    return Done(what, segment.records, segment.bytes)
