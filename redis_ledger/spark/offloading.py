"""Offloads the partitions of a topic.  The caller decides where tasks run.

plan ─→ write (tasks) ─→ verify (tasks) ─→ publish ─→ tidy up
          │ fails
          ├ the log start has moved into the plan      it is given up, its files are deleted, and another one is made
          ├ the plan is not the stored one any more    another run has ended it: plan again
          ├ the topic is gone                          its files are deleted; raises UnknownTopic
          └ otherwise                                  raises; the plan waits for the next run
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
from redis_ledger.spark.manifest_copy import copy_of, keep_copy
from redis_ledger.spark.orphan_files import left_over, listed
from redis_ledger.spark.pipelines.progress import Done, Progress, size
from redis_ledger.spark.read_options import OFFLOAD_DECODED_BYTES, Connection
from redis_ledger.spark.segment_tasks import Piece, Written, check, write

PLANS_MAX = 8  # given up in a row, because the log start moved into each of them
PARTITIONS_AT_ONCE = 16

T = TypeVar("T")
R = TypeVar("R")


class Run(Protocol):
    """Does the work on every piece, anywhere, and returns what came of it in the order of the pieces.
    told: what is said of a piece when it is done."""

    def __call__(
        self, work: Callable[[T], R], pieces: Sequence[T], told: Callable[[T, R], Done] | None = None
    ) -> list[R]: ...


class Wish(NamedTuple):
    """seal: what is still being written too.  older_than_ms: only what has come so long ago.  orphan_ms: how old a file
    has to be before it is deleted as an orphan.  skip_too_large: batches that are too large to decode are
    left out and named; else their partition stops before them.  decoded_bytes_max: of a batch."""

    seal: bool = False
    older_than_ms: int = 0
    verify: bool = True
    orphan_ms: int = 86_400_000
    skip_too_large: bool = False
    decoded_bytes_max: int = OFFLOAD_DECODED_BYTES


class Offload:
    """Of one topic, as it is now."""

    def __init__(
        self, client: Client, reached: Connection, topic: str, wish: Wish, run: Run, progress: Progress
    ) -> None:
        """Raises UnknownTopic, OffloadDisabled; InvalidRequest or ImportError where the home cannot be opened here."""
        from redis_ledger.offload.segment import open_home

        self._client, self._reached, self._topic = client, reached, topic
        self._wish, self._run, self._progress = wish, run, progress
        told = client.offload.describe(topic)
        if not told.home:
            raise OffloadDisabled
        self._topic_id, self._partitions, self._home = told.topic_id, told.partitions, open_home(told.home)
        self._over: set[str] = set()  # plans that no run can publish any more

    def all(self) -> list[Exception]:
        """Offloads every partition, and tidies up.  What failed of it, if anything."""
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
        """Plan after plan, until there is nothing left to be offloaded."""
        name, seal, given_up = TopicPartition(self._topic, now.partition), self._wish.seal, 0
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
                    self._progress.say(f"{name} is planned anew, for its log begins at {now.start_offset} by now")
                    self._give_up(plan, now.partition)
                self._over.add(plan.id)
                continue
            self._over.add(plan.id)
            # What comes while this is at work is for the next run; but a plan that was there before it knows nothing of
            # what is to be sealed.
            seal = seal and plan.id == left_behind
            count = done.ledgers_dropped
            dropped = f"{size(done.bytes_dropped)} in {count} ledger{'' if count == 1 else 's'}"
            self._progress.say(f"{name} is published up to {done.offloaded_offset}, and Redis has dropped {dropped}")

    def _plan(self, number: int, seal: bool) -> Plan | None:
        older_ms = self._wish.older_than_ms
        try:
            return self._client.offload.plan(
                self._topic, number, seal=seal, older_than_ms=older_ms, topic_id=self._topic_id
            )
        except UnknownTopic as error:
            raise self._gone() from error

    def _written(self, name: TopicPartition, plan: Plan) -> list[Segment]:
        """Every file of the plan is there, and verified, when this returns."""
        reached = self._reached.now()
        wish, uri = self._wish, self._home.uri
        pieces = [
            Piece(uri, self._topic_id, name, stretch, reached, wish.skip_too_large, wish.decoded_bytes_max)
            for stretch in plan.stretches
        ]
        self._progress.expect(len(pieces))
        written = self._run(write, pieces, told)
        for said in (said for each in written for said in each.skipped):
            self._progress.say(f"left out, and deleted when the segment is published: {said}")
        for segment in (each.segment for each in written):
            if segment.file and self._home.size(segment.file) != segment.bytes:
                raise OffloadedUnavailable(
                    f"A task has written {segment.file}, and here {self._home.uri} does not have it: the home of"
                    " offloaded records has to be one folder or bucket that driver, executors and brokers share."
                )
        if self._wish.verify:
            fresh = [each.segment for each in written if each.segment.file and not each.was_there]
            if fresh:
                self._run(check, [(self._home.uri, segment) for segment in fresh])
        return [each.segment for each in written]

    def _after(self, error: Exception, plan: Plan, number: int) -> OffloadedPartition:
        """How the partition stands after an error.  Raises UnknownTopic when it is gone; its files are then deleted."""
        try:
            return self._now()[number]
        except UnknownTopic as gone:
            for stretch in plan.stretches:
                self._home.delete(stretch.file)
            raise gone from error

    def _give_up(self, plan: Plan, number: int) -> None:
        """Abandons the plan, then deletes its files: they cannot be published any more."""
        with contextlib.suppress(UnknownPlan):  # another run has ended it, and its next plan is in effect
            for file in self._client.offload.abandon(self._topic, number, plan):
                self._home.delete(file)

    def _tidy_up(self) -> None:
        """Writes copies of manifests; deletes forgotten segments and orphan files."""
        found = [
            each for partition in self._partitions for each in listed(self._home, self._folder(partition.partition))
        ]
        now, forgotten = self._now(), []
        for each in now:
            if each.segments and each.segments[0].end <= each.start_offset:
                forgotten += self._client.offload.forget(self._topic, each.partition, topic_id=self._topic_id)
        if forgotten:
            now = self._now()
        for each in now:
            copy = copy_of(self._topic, self._topic_id, each.partition)
            if each.segments or any(there.file == copy for there in found):
                keep_copy(self._home, self._topic, self._topic_id, each)
        named = {segment.file for each in now for segment in each.segments}
        named |= {stretch.file for each in now if each.plan is not None for stretch in each.plan.stretches}
        before_s = time.time() - self._wish.orphan_ms / 1000
        orphans = left_over(found, named.union(forgotten), self._over, before_s)
        for file in (*forgotten, *orphans):
            self._home.delete(file)
        if forgotten or orphans:
            self._progress.say(
                f"{self._topic}: {len(forgotten)} files below the log start and {len(orphans)} that nothing names are"
                " deleted"
            )

    def _now(self) -> list[OffloadedPartition]:
        """How partitions stand.  Raises UnknownTopic when the topic is gone, or another one has its name."""
        with contextlib.suppress(UnknownTopic):
            told = self._client.offload.describe(self._topic)
            if told.topic_id == self._topic_id:
                return told.partitions
        raise self._gone()

    def _folder(self, partition: int) -> str:
        return folder(self._topic, self._topic_id, partition)

    def _gone(self) -> UnknownTopic:
        return UnknownTopic(f"The topic {self._topic} was deleted while it was being offloaded.", topic=self._topic)


def told(piece: Piece, written: Written) -> Done:
    segment, stretch = written.segment, piece.stretch
    what = f"{piece.partition} {stretch.first} to {stretch.end}{' (was there)' if written.was_there else ''}"
    return Done(what, segment.records, segment.bytes)
