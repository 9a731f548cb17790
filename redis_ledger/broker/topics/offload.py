"""Offload to Parquet: plans the next files, publishes written ones, and maintains the manifest.

    plan ──▶ a job writes the files ──▶ publish ──▶ payload is deleted
                                           │ checks each range of the plan, and the files in offload_home
                                           │ one script: adds segments to the manifest, moves the offset, ends the plan
                                           └ if the broker dies after it, the next retention deletes the payload

Brokers only read files; a job (Spark) writes and deletes them.  Every call is idempotent.

A topic that was deleted and created again may have an identical manifest, so a job passes the topic id.  A given
topic_id is compared, and UnknownTopic is raised if it differs.  The id of a plan identifies the topic as well.
Source: docs/decisions/0014.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import (
    ManifestChanged,
    OffloadDisabled,
    OffloadedDamaged,
    RequestTooLarge,
    SegmentMismatch,
    TopicBusy,
    UnknownPlan,
    UnknownTopic,
)
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.offload import manifest as manifests
from redis_ledger.offload.manifest import SEGMENTS_MAX, PageToken, Plan, Segment, Stretch
from redis_ledger.offload.plan import decide
from redis_ledger.offload.scripts import OffloadScripts, OffloadState
from redis_ledger.store.store import Store

OPENED_MAX = 8  # files opened at once
SWAPPED_MAX = 1_000  # segments removed and added in one script call
READ_AT_ONCE = 16  # partitions


class Published(NamedTuple):
    """offloaded_offset: end of the history in Parquet; the others: payload that this call has deleted."""

    offloaded_offset: int
    ledgers_dropped: int
    bytes_dropped: int


class Swapped(NamedTuple):
    """files: of the removed segments.  Delete them after readers have the new version."""

    version: int
    files: list[str]


class Page(NamedTuple):
    """Partitions from number `first` on.  The last one may continue at `after`; None: the end."""

    topic_id: str
    first: int
    states: list[OffloadState]
    after: str | None


class _Target(NamedTuple):
    partition: Partition
    calls: OffloadScripts
    state: OffloadState

    @property
    def name(self) -> str:
        return f"{self.partition.topic}:{self.partition.number}"

    @property
    def folder(self) -> str:
        return manifests.folder(self.partition.topic, self.partition.topic_id, self.partition.number)


class Offload:
    """Every method raises UnknownTopic, UnknownPartition."""

    def __init__(self, catalog: Catalog, store: Store, config: Config, clock: Clock) -> None:
        self._catalog, self._store, self._config, self._clock = catalog, store, config, clock

    async def page(self, topic: str, *, limit: int = SEGMENTS_MAX, after: str | None = None) -> Page:
        """Returns partitions with their segments, at most `limit` segments in all.  Raises InvalidRequest."""
        entry = await self._catalog.get(topic, fresh=True)
        begin = PageToken(entry.id, 0, 0, 0) if after is None else PageToken.parse(after)
        found: list[OffloadState] = []
        for first in range(begin.partition, entry.partitions, READ_AT_ONCE):
            numbers = range(first, min(first + READ_AT_ONCE, entry.partitions))
            read = await asyncio.gather(*(self._at(topic, number, begin.topic_id) for number in numbers))
            for number, state in zip(numbers, (at.state for at in read), strict=True):
                shown, rest = begin.cut(number, state.manifest, limit)
                found.append(state._replace(manifest=shown))
                limit -= len(shown.segments)
                if rest is not None:
                    return Page(begin.topic_id, begin.partition, found, str(rest))
        return Page(begin.topic_id, begin.partition, found, None)

    async def plan(
        self, topic: str, number: int, *, topic_id: str | None = None, seal: bool = False, older_than_ms: int = 0
    ) -> Plan | None:
        """Returns the stored plan, or stores and returns a new one.  None: there is nothing to write.

        A plan does not expire: any job may continue it, with the files that exist.  A plan whose records retention has
        deleted is abandoned.

        seal           seals the active ledger first, and plans up to the stable offset regardless of ledger ends
        older_than_ms  only records appended at least this long ago
        Raises OffloadDisabled, TopicBusy.
        """
        self._needs_home()
        for _ in range(8):
            at = await self._at(topic, number, topic_id)
            state = at.state
            if state.plan is not None:
                if state.plan.stretches[-1].end > state.start:
                    return state.plan
                await at.calls.abandon(state.plan)
                continue
            limit = await self._limit(at, older_than_ms)
            ledgers = await at.calls.ledgers()
            active = next((row for row in ledgers if row.number == state.active_ledger), None)
            if seal and active is not None and active.max_offset >= 0 and (active.end <= limit or not older_than_ms):
                await at.partition.seal()
                at = at._replace(state=await at.calls.state())
                state, limit = at.state, await self._limit(at, older_than_ms)
                ledgers = await at.calls.ledgers()
            ends = decide(ledgers, offloaded=state.offloaded_offset, start=state.start, limit=limit, to_limit=seal)
            if not ends:
                return None
            id = secrets.token_hex(8)
            wanted = Plan(
                id, [Stretch(first, end, manifests.segment_file_name(at.folder, first, end, id)) for first, end in ends]
            )
            stored = await at.calls.plan(wanted, state.offloaded_offset)
            if stored is not None:
                return stored
        raise TopicBusy(f"The plan of {topic}:{number} keeps changing; try again.", topic=topic)

    async def publish(self, topic: str, number: int, plan_id: str, segments: Sequence[Segment]) -> Published:
        """Raises OffloadDisabled, UnknownPlan, SegmentMismatch, OffloadedUnavailable, without changes."""
        self._needs_home()
        at = await self._at(topic, number)
        plan, offloaded = at.state.plan, at.state.offloaded_offset
        if plan is None or plan.id != plan_id:
            self._was_published(at, plan_id, segments)
        else:
            manifests.check_segments(plan, segments)
            await self._check_files(segments)
            published = await at.calls.publish(plan, segments)
            if published is None:
                raise UnknownPlan(f"{at.name} has no plan {plan_id} any more: it was abandoned or published.")
            offloaded = published
        trimmed = await at.partition.trim(retention_ms=-1, retention_bytes=-1)
        return Published(offloaded, trimmed.ledgers, trimmed.bytes)

    async def abandon(self, topic: str, number: int, plan_id: str) -> list[str]:
        """Returns the files of the plan, which may exist.  Raises UnknownPlan."""
        at = await self._at(topic, number)
        plan = at.state.plan
        if plan is None or plan.id != plan_id or not await at.calls.abandon(plan):
            raise UnknownPlan(self._no_plan(at, plan_id))
        return [stretch.file for stretch in plan.stretches]

    async def swap(
        self, topic: str, number: int, version: int, firsts: Sequence[int], added: Sequence[Segment], *, topic_id: str
    ) -> Swapped:
        """Replaces segments by others that cover the same offsets.  Raises OffloadDisabled, ManifestChanged,
        SegmentMismatch, OffloadedUnavailable, without changes."""
        self._needs_home()
        at = await self._at(topic, number, topic_id)
        manifest = at.state.manifest
        changed = f"The manifest of {at.name} has version {manifest.version}, not {version}; read it again."
        if manifest.version != version:
            raise ManifestChanged(changed, version=manifest.version)
        if len(firsts) + len(added) > SWAPPED_MAX:
            raise RequestTooLarge(
                f"{len(firsts)} segments to remove and {len(added)} to add exceed the maximum of {SWAPPED_MAX} in one "
                "step. Swap fewer at a time; nothing was changed."
            )
        removed = manifests.segments_to_remove(manifest, firsts, added, at.folder)
        await self._check_files(added)
        now = await at.calls.swap(version, [segment.first for segment in removed], added)
        if now is None:
            raise ManifestChanged(f"The manifest of {at.name} has changed; read it again.")
        return Swapped(now, _files([segment for segment in removed if segment not in added]))

    async def forget(self, topic: str, number: int, *, topic_id: str | None = None) -> list[str]:
        """Removes segments entirely below the log start from the manifest; returns their files."""
        at = await self._at(topic, number, topic_id)
        gone = [segment for segment in at.state.manifest.segments if segment.end <= at.state.start]
        if gone:
            await at.calls.forget(gone)
        return _files(gone)

    # -- steps -------------------------------------------------------------------------------------------------------

    async def _at(self, topic: str, number: int, topic_id: str | None = None) -> _Target:
        """Reads the partition's state, again if the cached topic was deleted and created again.  topic_id: the expected
        one; None accepts any."""
        for is_last in (False, True):
            partition = await self._catalog.partition(topic, number)
            calls = OffloadScripts(self._store, partition.keys, topic, partition.topic_id)
            try:
                at = _Target(partition, calls, await calls.state())
            except UnknownTopic:
                self._catalog.forget(topic)
                if is_last:
                    raise
                continue
            if topic_id not in (None, partition.topic_id):
                raise UnknownTopic(
                    f"Topic {topic!r} was deleted and created again: its id is {partition.topic_id}, not {topic_id}.",
                    topic=topic,
                )
            return at
        raise AssertionError("not reached")

    async def _limit(self, at: _Target, older_than_ms: int) -> int:
        if older_than_ms <= 0:
            return at.state.stable
        return min(at.state.stable, await at.partition.offsets.offset_at(self._clock.now_ms() - older_than_ms))

    async def _check_files(self, segments: Sequence[Segment]) -> None:
        """Checks that this broker can read every file, and that it matches its segment.  Raises SegmentMismatch,
        OffloadedUnavailable."""
        uri = self._config.offload_home
        turns = asyncio.Semaphore(OPENED_MAX)

        async def check(segment: Segment) -> None:
            async with turns:
                await asyncio.to_thread(_check_file, uri, segment)

        await asyncio.gather(*(check(segment) for segment in segments if segment.file))

    def _was_published(self, at: _Target, plan_id: str, segments: Sequence[Segment]) -> None:
        """Raises UnknownPlan unless the manifest has exactly these segments, because this call is a retry."""
        known = {segment.first: segment for segment in at.state.manifest.segments}
        if not segments or any(known.get(segment.first) != segment for segment in segments):
            raise UnknownPlan(self._no_plan(at, plan_id))

    def _no_plan(self, at: _Target, plan_id: str) -> str:
        plan = at.state.plan
        offloaded = at.state.offloaded_offset
        present = "there is no plan" if plan is None else f"its plan is {plan.id}"
        return f"{at.name} has no plan {plan_id}: {present}, and the offloaded offset is {offloaded}."

    def _needs_home(self) -> None:
        if not self._config.offload_home:
            raise OffloadDisabled


def _check_file(uri: str, segment: Segment) -> None:
    try:
        from redis_ledger.offload.segment import SegmentFile, open_home
    except ImportError as missing:
        raise OffloadDisabled(str(missing)) from missing
    home = open_home(uri)
    size = home.size(segment.file)
    if size < 0:
        raise SegmentMismatch(
            f"{segment.file} is not in {uri}, the offload_home of this broker; write it there, or start the broker "
            "with the home that the job writes to."
        )
    if size != segment.bytes:
        raise SegmentMismatch(f"{segment.file} has {size} bytes in {uri}, not {segment.bytes}; write it again.")
    try:
        SegmentFile(home, segment).close()
    except OffloadedDamaged as error:
        raise SegmentMismatch(f"{error.detail} Write it again.") from error


def _files(segments: Sequence[Segment]) -> list[str]:
    return [segment.file for segment in segments if segment.file]
